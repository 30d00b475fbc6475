import { walkThrough } from '../support/page-walk.js';

walkThrough('docs/spreadsheets.md');
