import { SetupError } from './setup-error.mjs';

const oldestNode = 20;

/** Refuses a machine on which nothing further would work, with what to do about it. */
export function requirePlatform() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < oldestNode) {
    throw new SetupError(
      `Atelier needs Node.js ${oldestNode} or later to start and this is ${process.version}: install a newer one from https://nodejs.org.`,
    );
  }
  if (!['linux', 'darwin'].includes(process.platform) || !['x64', 'arm64'].includes(process.arch)) {
    throw new SetupError(
      `Atelier runs on Linux and macOS (x64, arm64) and this is ${process.platform}-${process.arch}: on Windows, use WSL 2.`,
    );
  }
}
