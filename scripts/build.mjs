/** `npm run build`: compiles the sources to `dist` and bundles them, as `npm start` does. Types are checked by `npm run lint`. */
import { requireBuild } from './lib/build.mjs';
import { SetupError } from './lib/setup-error.mjs';

try {
  await requireBuild();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  error.print();
  process.exitCode = 1;
}
