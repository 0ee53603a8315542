import path from 'node:path';
import { parse, stringify } from 'yaml';
import { BuildFailure } from './build-failure.js';
import { type JsonObject, type ManifestReader, readStrings } from './manifest-reader.js';
import { filterNpmrc } from './npmrc.js';

const MAX_MANIFESTS = 500;
const MAX_DEPTH = 20;

/** Fields of a manifest that name packages. Nothing that runs. */
const MANIFEST_FIELDS = [
  'name',
  'version',
  'private',
  'type',
  'engines',
  'os',
  'cpu',
  'workspaces',
  'bin',
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'bundleDependencies',
  'bundledDependencies',
  'overrides',
  'resolutions',
  'dependenciesMeta',
  'pnpm',
];
/** Fields of `pnpm-workspace.yaml`. */
const PNPM_FIELDS = [
  'packages',
  'catalog',
  'catalogs',
  'overrides',
  'packageExtensions',
  'autoInstallPeers',
  'nodeLinker',
  'hoist',
  'hoistPattern',
  'publicHoistPattern',
  'shamefullyHoist',
  'strictPeerDependencies',
  'onlyBuiltDependencies',
  'ignoredBuiltDependencies',
  'neverBuiltDependencies',
  'allowBuilds',
  'registry',
  'registries',
  'dedupePeerDependents',
  'linkWorkspacePackages',
  'preferWorkspacePackages',
  'ignoredOptionalDependencies',
];
/** Fields of `.yarnrc.yml`. */
const YARN_FIELDS = [
  'packageExtensions',
  'catalog',
  'catalogs',
  'supportedArchitectures',
  'compressionLevel',
  'checksumBehavior',
  'defaultSemverRangePrefix',
];
const LISTS = ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides', 'resolutions', 'pnpm'];
const LOCAL = /^(?:file|link|portal):(.*)$|^((?:\.{1,2}|~)?\/.*)$/;

export interface InstallFiles {
  /** Contents by path, relative to the project. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders that may have a `node_modules`; '' is the project's own. */
  readonly folders: string[];
  /** All configured registries, including the default one. */
  readonly registries: readonly string[];
  readonly registry: string | undefined;
  readonly leftOut: readonly string[];
}

/** Throws BuildFailure. */
export async function installFiles(reader: ManifestReader, lock: string | undefined): Promise<InstallFiles> {
  const files = new Map<string, string>();
  const folders: string[] = [];
  for (const file of await listManifests(reader)) {
    const folder = path.posix.dirname(file) === '.' ? '' : path.posix.dirname(file);
    const manifest = (await reader.manifest(file)) ?? {};
    const taken = pick(manifest, MANIFEST_FIELDS);
    for (const list of LISTS) requireInside(taken[list], folder, file);
    files.set(file, `${JSON.stringify(taken, null, 2)}\n`);
    folders.push(folder);
  }
  const npmrc = filterNpmrc((await reader.settings('.npmrc')) ?? '');
  if (npmrc.text !== '') files.set('.npmrc', npmrc.text);
  const pnpm = parseYaml('pnpm-workspace.yaml', await reader.settings('pnpm-workspace.yaml'));
  const yarn = parseYaml('.yarnrc.yml', await reader.settings('.yarnrc.yml'));
  if (pnpm) files.set('pnpm-workspace.yaml', pnpmWorkspace(pnpm));
  const ofYarn = yarn && { ...pick(yarn, YARN_FIELDS), ...yarnRegistries(yarn) };
  if (ofYarn && Object.keys(ofYarn).length > 0) files.set('.yarnrc.yml', stringify(ofYarn));
  const text = lock && (await reader.lock(lock));
  if (lock && text !== undefined) files.set(lock, text);
  const registry = npmrc.registry ?? asText(pnpm?.registry) ?? asText(yarn?.npmRegistryServer);
  const named = [...readStrings(pnpm?.registries).values(), ...yarnScopes(yarn).values()];
  const registries = [...npmrc.registries, ...(registry === undefined ? [] : [registry]), ...named];
  return { files, folders, registries: [...new Set(registries)], registry, leftOut: npmrc.leftOut };
}

/** Manifests of the project and of its workspaces. */
async function listManifests(reader: ManifestReader): Promise<string[]> {
  const root = (await reader.manifest('package.json')) ?? {};
  const hasParts =
    root.workspaces !== undefined ||
    (await reader.exists('pnpm-workspace.yaml')) ||
    LISTS.some(list => localsIn(root[list]).length > 0);
  if (!hasParts) return ['package.json'];
  const found = (await reader.list()).filter(isManifest);
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
        `${file} depends on ${JSON.stringify(local)}, which lies outside of its folder: put it inside, or publish it to a registry.`,
      );
    if (/\.(?:tgz|tar|tar\.gz)$/.test(local))
      throw new BuildFailure(
        `${file} depends on the archive ${JSON.stringify(local)}: unpack it to a folder, and name that.`,
      );
  }
}

/** Local paths of dependencies, also in nested overrides. */
function localsIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') {
    const [, named, bare] = LOCAL.exec(value) ?? [];
    const local = named ?? bare;
    return local === undefined ? [] : [local];
  }
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap(inner => localsIn(inner, depth + 1));
}

function parseYaml(file: string, text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = parse(text);
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    throw new BuildFailure(`${file} is no YAML: ${line}.`, { cause: error });
  }
}

function pnpmWorkspace(settings: JsonObject): string {
  const taken = pick(settings, PNPM_FIELDS);
  requireInside(taken, '', 'pnpm-workspace.yaml');
  return stringify(taken);
}

/** Registry by scope. */
function yarnScopes(settings: JsonObject | undefined): Map<string, string> {
  const { npmScopes } = settings ?? {};
  const scopes = typeof npmScopes === 'object' && npmScopes !== null ? Object.entries(npmScopes) : [];
  return new Map(
    scopes.flatMap(([scope, value]) => {
      const server = readStrings(value).get('npmRegistryServer');
      return server === undefined ? [] : [[scope, server] as const];
    }),
  );
}

/** Registries only, without the tokens beside them. */
function yarnRegistries(settings: JsonObject): JsonObject {
  const scopes = [...yarnScopes(settings)].map(([scope, npmRegistryServer]) => [
    scope,
    { npmRegistryServer },
  ]);
  return scopes.length > 0 ? { npmScopes: Object.fromEntries(scopes) } : {};
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function pick(from: JsonObject, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter(field => Object.hasOwn(from, field)).map(field => [field, from[field]]),
  );
}
