import { existsSync, readFileSync } from 'node:fs';
import { exclusively } from './exclusive.mjs';
import { runNpm } from './npm.mjs';
import { inProject, projectDir } from './project.mjs';
import { SetupError } from './setup-error.mjs';
import { stage } from './stage.mjs';
import { hashOf, readStamp, writeStamp } from './stamp.mjs';

const stampFile = inProject('node_modules', '.atelier-installed.json');

/**
 * Brings node_modules to what package-lock.json says; does nothing where it is that already.
 * @param {{ dev: boolean }} wanted whether the packages that only tests and linting need are wanted too
 */
export async function requireDependencies({ dev }) {
  if (isInstalled(dev)) return;
  await exclusively(`install ${projectDir}`, async () => {
    if (isInstalled(dev)) return;
    const title = dev ? 'Installing dependencies and what tests need' : 'Installing dependencies';
    await stage(title, () => install(dev));
  });
}

async function install(dev) {
  const wanted = wantedInstall();
  if (!holdsLockedPackages(dev)) await installLockedPackages(dev);
  writeStamp(stampFile, { install: wanted, dev });
}

async function installLockedPackages(dev) {
  const kind = dev ? '--include=dev' : '--omit=dev';
  const flags = [kind, '--include=optional', '--prefer-offline', '--no-audit', '--no-fund'];
  // A service may be running on what is there: what is missing is added, and nothing is taken away meanwhile.
  const isAddition = dev && holdsLockedPackages(false);
  let result = isAddition
    ? await runNpm('npm-install', ['install', '--no-save', ...flags])
    : await runNpm('npm-ci', ['ci', ...flags]);
  // A registry mirror may lack packages for other platforms; `npm ci` refuses a lock file without them,
  // `npm install` takes every version from the same lock file and passes over what does not concern this machine.
  if (!result.ok && /code EUSAGE/.test(result.output)) {
    result = await runNpm('npm-install', ['install', '--no-save', ...flags]);
  }
  if (result.ok) return;
  throw new SetupError(
    `The dependencies could not be installed: see the reason above (all of it in ${result.log}), then start again.`,
    result.output,
  );
}

function isInstalled(dev) {
  const stamp = readStamp(stampFile);
  return stamp?.install === wantedInstall() && (stamp.dev === true || !dev);
}

/** Packages with native parts differ between platforms. */
function wantedInstall() {
  return hashOf(readFileSync(inProject('package-lock.json')), process.platform, process.arch);
}

/** Someone may have run npm themselves: what npm noted down as installed is compared with the lock file. */
function holdsLockedPackages(dev) {
  const installed = readStamp(inProject('node_modules', '.package-lock.json'))?.packages;
  if (!installed) return false;
  const { packages } = JSON.parse(readFileSync(inProject('package-lock.json'), 'utf8'));
  return Object.entries(packages).every(([name, wanted]) => {
    const present = installed[name];
    const isLeftOut = wanted.optional || ((wanted.dev || wanted.devOptional) && !dev);
    if (name === '' || (!present && isLeftOut)) return true;
    const isSame = present?.version === wanted.version && present?.integrity === wanted.integrity;
    return isSame && existsSync(inProject(name, 'package.json'));
  });
}
