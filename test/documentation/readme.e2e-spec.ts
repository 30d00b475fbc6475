import { walkThrough } from '../support/page-walk.js';

walkThrough('README.md');
