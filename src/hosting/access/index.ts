export type { Admitted, Viewer } from './admitted.js';
