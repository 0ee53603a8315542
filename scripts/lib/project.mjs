import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's own folder, whatever the working directory. */
export const projectDir = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Output of set-up steps, kept out of the way and out of version control. */
export const logDir = path.join(projectDir, '.cache', 'setup');

export const inProject = (...parts) => path.join(projectDir, ...parts);
