/** Compiles and bundles the files that its parent sends, and answers with what failed. A process of its own: it takes 1.3 GB. */
import { bundle } from './bundle.mjs';
import { compile } from './compile.mjs';

const UNCOMPILED = 'The project does not compile: correct what is shown above and start again.';
const UNBUNDLED =
  'The compiled sources could not be put into one bundle: see the reason above and start again.';

process.once('message', async files => {
  const failure =
    (await attempt(UNCOMPILED, () => compile(files))) ?? (await attempt(UNBUNDLED, bundle)) ?? {};
  process.send(failure, () => process.disconnect());
});

async function attempt(failed, step) {
  try {
    await step();
    return undefined;
  } catch (error) {
    return { failed, reason: error.message };
  }
}
