import path from 'node:path';
import { parse, stringify } from 'yaml';
import { BuildFailure } from './build-failure.js';
import type { JsonObject, ManifestReader } from './manifest-reader.js';
import { type FilteredNpmrc, filterNpmrc } from './npmrc.js';

const MAX_MANIFESTS = 500;
const MAX_DEPTH = 20;

/** Of a manifest, what says which packages are needed: no scripts, and nothing that runs. */
const MANIFEST_FIELDS = [
  ...['name', 'version', 'private', 'type', 'engines', 'os', 'cpu', 'workspaces', 'bin'],
  ...['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies', 'peerDependenciesMeta'],
  ...['bundleDependencies', 'bundledDependencies', 'overrides', 'resolutions', 'dependenciesMeta', 'pnpm'],
];
/** Of `pnpm-workspace.yaml`. */
const PNPM_FIELDS = [
  ...['packages', 'catalog', 'catalogs', 'overrides', 'packageExtensions', 'autoInstallPeers', 'nodeLinker'],
  ...['hoist', 'hoistPattern', 'publicHoistPattern', 'shamefullyHoist', 'strictPeerDependencies'],
  ...['onlyBuiltDependencies', 'ignoredBuiltDependencies', 'neverBuiltDependencies', 'allowBuilds'],
  ...[
    'dedupePeerDependents',
    'linkWorkspacePackages',
    'preferWorkspacePackages',
    'ignoredOptionalDependencies',
  ],
];
const LISTS = ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides', 'resolutions', 'pnpm'];
const LOCAL = /^(?:file|link|portal):(.*)$|^((?:\.{1,2}|~)?\/.*)$/;

/** All that an installation is given. */
export interface InstallFiles {
  /** By path relative to the project's folder. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders that can have a `node_modules`; '' is the project's own. */
  readonly folders: string[];
  readonly npmrc: FilteredNpmrc;
}

/** Throws BuildFailure. */
export async function installFiles(reader: ManifestReader, lock: string | undefined): Promise<InstallFiles> {
  const files = new Map<string, string>();
  const folders: string[] = [];
  for (const file of await manifestsOf(reader)) {
    const folder = path.posix.dirname(file) === '.' ? '' : path.posix.dirname(file);
    const manifest = (await reader.manifest(file)) ?? {};
    const taken = pick(manifest, MANIFEST_FIELDS);
    for (const list of LISTS) requireInside(taken[list], folder, file);
    files.set(file, `${JSON.stringify(taken, null, 2)}\n`);
    folders.push(folder);
  }
  const npmrc = filterNpmrc((await reader.settings('.npmrc')) ?? '');
  if (npmrc.text !== '') files.set('.npmrc', npmrc.text);
  const workspace = pnpmWorkspace(await reader.settings('pnpm-workspace.yaml'));
  if (workspace) files.set('pnpm-workspace.yaml', workspace);
  const text = lock && (await reader.lock(lock));
  if (lock && text !== undefined) files.set(lock, text);
  return { files, folders, npmrc };
}

/** The manifest of the project, and those of its parts where it has any. */
async function manifestsOf(reader: ManifestReader): Promise<string[]> {
  const root = (await reader.manifest('package.json')) ?? {};
  const hasParts =
    root.workspaces !== undefined ||
    (await reader.exists('pnpm-workspace.yaml')) ||
    LISTS.some(list => localsIn(root[list]).length > 0);
  if (!hasParts) return ['package.json'];
  const entries = await reader.files.listAll('');
  const found = entries
    .filter(({ type, path: at }) => type === 'file' && isManifest(at))
    .map(({ path: at }) => at);
  if (found.length > MAX_MANIFESTS)
    throw new BuildFailure(
      `There are ${found.length} package.json in the folder, more than ${MAX_MANIFESTS}.`,
    );
  return found;
}

function isManifest(file: string): boolean {
  const parts = file.split('/');
  return parts.at(-1) === 'package.json' && !parts.includes('node_modules');
}

function requireInside(list: unknown, folder: string, file: string): void {
  for (const local of localsIn(list)) {
    const target = path.posix.normalize(path.posix.join(folder, local));
    if (/^[/~]/.test(local) || target === '..' || target.startsWith('../'))
      throw new BuildFailure(
        `${file} depends on ${JSON.stringify(local)}, which lies outside of the site's folder: put it inside, or publish it to a registry.`,
      );
    if (/\.(?:tgz|tar|tar\.gz)$/.test(local))
      throw new BuildFailure(
        `${file} depends on the archive ${JSON.stringify(local)}: unpack it to a folder, and name that.`,
      );
  }
}

/** Paths that dependencies lead to, also in nested overrides. */
function localsIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') {
    const [, named, bare] = LOCAL.exec(value) ?? [];
    const local = named ?? bare;
    return local === undefined ? [] : [local];
  }
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap(inner => localsIn(inner, depth + 1));
}

function pnpmWorkspace(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const taken = pick(value as JsonObject, PNPM_FIELDS);
    requireInside(taken, '', 'pnpm-workspace.yaml');
    return stringify(taken);
  } catch (error) {
    if (error instanceof BuildFailure) throw error;
    const [line = ''] = (error as Error).message.split('\n');
    throw new BuildFailure(`pnpm-workspace.yaml is no YAML: ${line}.`, { cause: error });
  }
}

function pick(from: JsonObject, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter(field => Object.hasOwn(from, field)).map(field => [field, from[field]]),
  );
}
