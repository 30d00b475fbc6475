import { walkThrough } from '../support/page-walk.js';

walkThrough('docs/lists-and-branches.md');
