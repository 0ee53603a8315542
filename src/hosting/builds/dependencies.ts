import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { WorkspaceFs } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { WorkspaceFolders } from '../../workspaces/core/index.js';
import { BuildEgress } from './build-egress.js';
import type { BuildJob, InstallJob } from './build-job.js';
import type { BuildLog } from './build-log.js';
import { BuildSandboxes } from './build-sandboxes.js';
import { ModuleCache } from './module-cache.js';
import { type InstallFiles, installFiles } from './project/install-files.js';
import { ManifestReader } from './project/manifest-reader.js';
import type { PackageManager } from './project/project.js';

/** Parameters: the command, then the package manager to install first, if any. */
const SCRIPT = `set -e
export npm_config_cache="$PWD/.npm-cache"
export PATH="$PWD/.tools/node_modules/.bin:$PATH"
if [ -n "$2" ]; then npm install --silent --no-save --no-package-lock --prefix .tools "$2"; fi
bash -c "$1"
mkdir -p node_modules
if [ -d .tools ]; then mv .tools node_modules/.tools; fi`;

export interface Provided {
  /** Freshly installed: none of their code has run yet. */
  readonly isFresh: boolean;
  /** Stores the dependencies in the cache, once the project is built. */
  keep(): Promise<void>;
}

/** A folder that holds freshly installed dependencies. Removed once it was handed on. */
export interface Installed {
  readonly folder: string;
  /** Null if the size cannot be measured. */
  bytes(): Promise<number | null>;
  moveTo(target: string): Promise<void>;
}

/** Provides dependencies: from the cache, or by an installation that sees only manifests. */
@Injectable()
export class Dependencies {
  constructor(
    private readonly config: Config,
    private readonly folders: WorkspaceFolders,
    private readonly cache: ModuleCache,
    private readonly egress: BuildEgress,
    private readonly sandboxes: BuildSandboxes,
  ) {}

  /** Throws BuildFailure. */
  async provide(job: BuildJob, log: BuildLog): Promise<Provided> {
    const { folder, cacheKey, project } = job;
    if (project.install === undefined) return { isFresh: true, keep: async () => undefined };
    job.onPhase('install');
    const wanted = await installFiles(new ManifestReader(folder), project.manager?.lock);
    await this.egress.requireReachable(job.workspace.id, wanted.registries);
    const key = entryKey(job, wanted);
    const keep = async (): Promise<void> => {
      if (key === undefined) return;
      const bytes = await this.sandboxes.measure(job, folder, job.signal);
      if (bytes !== null) await this.cache.keep(cacheKey, key, { folder, folders: wanted.folders, bytes });
    };
    if (key !== undefined && (await this.cache.take(cacheKey, key, folder, wanted.folders))) {
      log.say('The dependencies are there from an earlier build.');
      return { isFresh: false, keep };
    }
    await this.install(job, log, wanted, installed => installed.moveTo(folder));
    return { isFresh: true, keep };
  }

  /** Installs in an empty folder, which is removed after `take`. */
  async install(
    job: InstallJob,
    log: BuildLog,
    { files, folders, registry, registries, leftOut }: InstallFiles,
    take: (installed: Installed) => Promise<void>,
  ): Promise<void> {
    const { project, workspace } = job;
    const egress = this.egress.forInstall();
    if (leftOut.length > 0) log.say(`.npmrc: builds do not use ${leftOut.join(', ')}.`);
    const command = project.install ?? '';
    const { name = 'npm', version } = project.manager ?? {};
    log.say(`$ ${command}`);
    const work = await this.cache.workFolder(job.cacheKey);
    try {
      const owner = this.folders.ownerOf(workspace);
      const place = await WorkspaceFs.create(work, { owner, maxFileBytes: Number.MAX_SAFE_INTEGER });
      for (const [file, text] of files) await place.write(file, text);
      const step = {
        ...({ what: 'install', folder: work, script: SCRIPT, command, egress } as const),
        args: [command, version ? `${packageName(name, version)}@${version}` : ''],
        env: environment(name, registry ?? this.egress.defaultRegistry),
        seconds: this.config.siteBuildLimits.install_seconds,
        requires: this.egress.requiredHosts(registries),
      };
      await this.sandboxes.run(job, step, log);
      await take({
        folder: work,
        bytes: () => this.sandboxes.measure(job, work, job.signal),
        moveTo: target => this.cache.hand(work, target, folders),
      });
    } finally {
      this.cache.discard(work);
    }
  }
}

/** From version 2 on, the registry has Yarn under another name. */
function packageName(name: string, version: string): string {
  return name === 'yarn' && !version.startsWith('1.') ? '@yarnpkg/cli-dist' : name;
}

function environment(name: PackageManager['name'], registry: string): Record<string, string> {
  return {
    // Certificates that the machine trusts: a registry of a company may have one of its own.
    NODE_USE_SYSTEM_CA: '1',
    npm_config_registry: registry,
    npm_config_ignore_scripts: 'true',
    npm_config_fetch_retry_mintimeout: '500',
    npm_config_fetch_retry_maxtimeout: '5000',
    ...(name === 'pnpm' ? pnpmEnvironment(registry) : {}),
    ...(name === 'yarn' ? yarnEnvironment(registry) : {}),
  };
}

/** Newer versions read only the second prefix. */
function pnpmEnvironment(registry: string): Record<string, string> {
  const settings = {
    registry,
    ignore_scripts: 'true',
    manage_package_manager_versions: 'false',
    store_dir: '.store',
  };
  const prefixes = ['npm_config', 'pnpm_config'];
  return Object.fromEntries(
    prefixes.flatMap(prefix => Object.entries(settings).map(([name, value]) => [`${prefix}_${name}`, value])),
  );
}

/** Settings for version 1, then for later versions. */
function yarnEnvironment(registry: string): Record<string, string> {
  return {
    YARN_REGISTRY: registry,
    YARN_CACHE_FOLDER: '.yarn-cache',
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_ENABLE_SCRIPTS: 'false',
    YARN_NODE_LINKER: 'node-modules',
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_GLOBAL_CACHE: 'false',
    YARN_HTTP_PROXY: PROXY,
    YARN_HTTPS_PROXY: PROXY,
  };
}

const PROXY = 'http://127.0.0.1:3128';

/** Undefined without a lock file: the result may differ each time. */
function entryKey({ project }: BuildJob, wanted: InstallFiles): string | undefined {
  return project.manager?.lock ? computeFingerprint(project, wanted) : undefined;
}

/** Equal for equal manifests on equal platforms. */
export function computeFingerprint(
  { manager, install }: InstallJob['project'],
  { files }: InstallFiles,
): string {
  const [major] = process.versions.node.split('.');
  const what = [...files, manager?.name, manager?.version, install, major, process.platform, process.arch];
  return createHash('sha256').update(JSON.stringify(what)).digest('hex');
}
