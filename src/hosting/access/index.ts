export type { Admitted } from './admitted.js';
