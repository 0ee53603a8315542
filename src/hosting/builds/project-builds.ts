import { Injectable } from '@nestjs/common';
import { type EntryType, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { BuildEgress } from './build-egress.js';
import type { BuildJob, BuildOutput } from './build-job.js';
import { BuildLog } from './build-log.js';
import { BuildSandboxes } from './build-sandboxes.js';
import { Dependencies } from './dependencies.js';
import { ModuleCache } from './module-cache.js';
import { BuildFailure } from './project/build-failure.js';
import { detectProject, plainFolder } from './project/detect-project.js';
import { ManifestReader, readStrings } from './project/manifest-reader.js';
import type { DetectedProject, ProjectSettings } from './project/project.js';

/** Packages that need their postinstall script, which works without network. */
const REBUILT = ['vue-demi'];

/** Parameters: the command; `prepare` for new dependencies; `postinstall` if the project has that script. */
const SCRIPT = `export PATH="$PWD/node_modules/.tools/node_modules/.bin:$PWD/node_modules/.bin:$PATH"
if [ "$2" = prepare ]; then
  for package in ${REBUILT.join(' ')}; do
    if [ -d "node_modules/$package" ]; then npm_config_dangerously_allow_all_scripts=true npm rebuild --silent "$package"; fi
  done
fi
if [ "$3" = postinstall ]; then npm run postinstall || echo 'The script "postinstall" has failed; the build goes on.' >&2; fi
exec nice -n 5 bash -c "$1"`;

/** Without network, retries are useless. */
const ENVIRONMENT = { npm_config_fetch_retries: '0' };

@Injectable()
export class ProjectBuilds {
  constructor(
    private readonly config: Config,
    private readonly dependencies: Dependencies,
    private readonly sandboxes: BuildSandboxes,
    private readonly egress: BuildEgress,
    private readonly cache: ModuleCache,
  ) {}

  /** A folder published as it is; undefined if that depends on its manifest. Throws BuildFailure. */
  plain(settings: ProjectSettings, hasManifest: boolean): DetectedProject | undefined {
    return plainFolder(settings, hasManifest);
  }

  /** Reads manifests, runs nothing. Throws BuildFailure. */
  detect(folder: string, settings: ProjectSettings): Promise<DetectedProject> {
    return detectProject(folder, settings);
  }

  /**
   * Installs with network and without data, then builds with data and without network. Throws BuildFailure, or the abort
   * reason.
   */
  async run(job: BuildJob): Promise<BuildOutput> {
    job.signal.throwIfAborted();
    if (job.project.needsBuild) await this.build(job);
    const files = new WorkspaceFs(job.folder, { maxFileBytes: 0 });
    const path = await this.outputOf(job.project, async output => (await files.find(output))?.type);
    return { folder: job.folder, path };
  }

  /** Output folder, relative to the project. Throws BuildFailure. */
  async outputOf(
    { outputs, needsBuild }: DetectedProject,
    typeAt: (path: string) => Promise<EntryType | undefined>,
  ): Promise<string> {
    for (const output of outputs) {
      const type = output === '' ? 'directory' : await typeAt(output);
      if (type === 'directory') return output;
      if (type) throw new BuildFailure(`"${output}" should be the folder of the site, and is a ${type}.`);
    }
    const looked = outputs.map(output => `"${output}"`).join(', ');
    const made = needsBuild ? 'The build made no folder' : 'There is no folder';
    throw new BuildFailure(`${made} ${looked}: say where the site is with output_dir.`);
  }

  forget(cacheKey: string): Promise<void> {
    return this.cache.forget(cacheKey);
  }

  private async build(job: BuildJob): Promise<void> {
    const log = new BuildLog((stream, text) => job.onLog(stream, text));
    const dependencies = await this.dependencies.provide(job, log);
    const { build: command } = job.project;
    job.onPhase('build');
    if (command === undefined) return;
    log.forgetTail();
    log.say(`$ ${command}`);
    const step = {
      ...({ what: 'build', folder: job.folder, script: SCRIPT, command } as const),
      args: [command, dependencies.isFresh ? 'prepare' : '', await this.findPostinstall(job)],
      env: ENVIRONMENT,
      egress: this.egress.forBuild(),
      seconds: this.config.siteBuildLimits.build_seconds,
    };
    await this.sandboxes.run(job, step, log);
    await dependencies.keep();
  }

  /** The project's own postinstall script may need files that the installation did not see. */
  private async findPostinstall({ folder, project }: BuildJob): Promise<string> {
    if (project.install === undefined) return '';
    const manifest = await new ManifestReader(folder).manifest('package.json');
    return readStrings(manifest?.scripts).has('postinstall') ? 'postinstall' : '';
  }
}
