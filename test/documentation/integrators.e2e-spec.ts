import { walkThrough } from '../support/page-walk.js';

walkThrough('docs/integrators.md');
