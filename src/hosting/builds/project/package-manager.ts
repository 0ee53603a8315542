import type { JsonObject, ManifestReader } from './manifest-reader.js';
import type { PackageManager, ProjectFinding } from './project.js';

/** Versions for projects that name none. */
const PNPM = '10.34.9';
/** Last version that reads lock files of version 6.0. */
const PNPM_BEFORE = '8.15.9';
const YARN_CLASSIC = '1.22.22';
/** By the greatest lock file version that each writes: a newer Yarn would change the file. */
const YARNS = [
  [6, '3.8.7'],
  [8, '4.13.0'],
  [9, '4.14.1'],
  [Number.POSITIVE_INFINITY, '4.18.1'],
] as const;

const LOCKS = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['npm-shrinkwrap.json', 'npm'],
  ['package-lock.json', 'npm'],
] as const;

/** Chosen by lock file; among several, by `packageManager` in package.json. */
export async function detectManager(
  reader: ManifestReader,
  manifest: JsonObject,
  findings: ProjectFinding[],
): Promise<PackageManager> {
  const named = namedIn(manifest);
  const locks = [];
  for (const [file, name] of LOCKS) if (await reader.exists(file)) locks.push({ file, name });
  const lock = locks.find(({ name }) => name === named?.name) ?? (named ? undefined : locks[0]);
  const warn = (message: string, file?: string) => findings.push({ level: 'warning', message, file });
  if (!lock) {
    const without = 'Without a lock file each build may get other versions of the dependencies';
    if (hasDependencies(manifest)) warn(`${without}: add the one that your package manager writes.`);
    if (await reader.exists('bun.lock'))
      warn('The lock file of Bun is not read; npm installs the dependencies.', 'bun.lock');
  }
  const others = locks.filter(({ file }) => file !== lock?.file).map(({ file }) => file);
  if (others.length > 0)
    warn(`Only one lock file counts${lock ? ` (${lock.file})` : ''}: remove ${others.join(', ')}.`);
  const name = lock?.name ?? named?.name ?? 'npm';
  return { name, lock: lock?.file, version: await chooseVersion(name, named, lock?.file, reader) };
}

/** Reads `packageManager`, such as `pnpm@9.15.0+sha512.…`. Undefined for other forms. */
function namedIn({
  packageManager,
}: JsonObject): { name: PackageManager['name']; version: string } | undefined {
  const [, name, version] =
    /^(npm|pnpm|yarn)@(\d+\.\d+\.\d+)(?:[-+][\w.+-]*)?$/.exec(String(packageManager)) ?? [];
  return version === undefined ? undefined : { name: name as PackageManager['name'], version };
}

async function chooseVersion(
  name: PackageManager['name'],
  named: ReturnType<typeof namedIn>,
  lock: string | undefined,
  reader: ManifestReader,
): Promise<string | undefined> {
  if (name === 'npm') return undefined;
  if (named?.name === name) return named.version;
  const text = lock && (await reader.lock(lock));
  if (name === 'pnpm') return /^lockfileVersion:\s*['"]?[56]\./m.test(text ?? '') ? PNPM_BEFORE : PNPM;
  const [, written] = /^__metadata:\s+version: (\d+)/m.exec(text ?? '') ?? [];
  if (written === undefined) return YARN_CLASSIC;
  return YARNS.find(([version]) => Number(written) <= version)?.[1];
}

/** Whether there is anything to install or to link. */
export function needsInstall(manifest: JsonObject, manager: PackageManager): boolean {
  return manager.lock !== undefined || manifest.workspaces !== undefined || hasDependencies(manifest);
}

function hasDependencies(manifest: JsonObject): boolean {
  const lists = [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies];
  return lists.some(list => typeof list === 'object' && list !== null && Object.keys(list).length > 0);
}

/** Installs what the lock file names, without running scripts of packages. */
export function installCommand({ name, lock, version }: PackageManager): string {
  if (name === 'pnpm') return `pnpm install ${lock ? '--frozen-lockfile' : '--no-frozen-lockfile'}`;
  if (name === 'npm') return lock ? 'npm ci' : 'npm install';
  if (version?.startsWith('1.')) return `yarn install --non-interactive${lock ? ' --frozen-lockfile' : ''}`;
  return `yarn install ${lock ? '--immutable' : '--no-immutable'}`;
}
