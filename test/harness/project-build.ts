import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { it } from '@jest/globals';
import { WorkspaceFs } from '#libs/workspace-fs/index.js';
import {
  BuildFailure,
  type BuildJob,
  type BuildOutput,
  type DetectedProject,
  ProjectBuilds,
  type ProjectFinding,
  type ProjectSettings,
} from '../../src/hosting/builds/index.js';
import { WorkspaceFolders } from '../../src/workspaces/core/index.js';
import type { Person, TestService } from './service.js';

/** Files by path; what is no text is written as JSON. */
export type ProjectFiles = Record<string, unknown>;

export interface Built {
  /** Undefined where the build failed. */
  output: BuildOutput | undefined;
  /** Why it failed. */
  failure: string | undefined;
  preset: string | undefined;
  findings: ProjectFinding[];
  phases: string[];
  log: string;
}

/** Snapshots of projects, as sites make them, and their builds. */
export class ProjectBuilding {
  private readonly builds: ProjectBuilds;

  constructor(
    private readonly service: TestService,
    readonly workspace: BuildJob['workspace'],
  ) {
    this.builds = service.app.get(ProjectBuilds, { strict: false });
  }

  static async in(service: TestService, person: Person): Promise<ProjectBuilding> {
    const id = await service.workspace(person);
    const [row] = await service.database.query('select number::int from workspace where id = $1', [id]);
    return new ProjectBuilding(service, { id, number: row?.number, organization_id: person.organizationId });
  }

  /** A snapshot with these files. */
  async snapshot(files: ProjectFiles): Promise<string> {
    const owner = this.service.app.get(WorkspaceFolders, { strict: false }).ownerOf(this.workspace);
    const parent = path.join(this.service.dataDir, 'builds');
    mkdirSync(parent, { recursive: true, mode: 0o711 });
    const folder = path.join(parent, randomUUID());
    const snapshot = await WorkspaceFs.create(folder, { owner, maxFileBytes: 1024 ** 3 });
    for (const [name, content] of Object.entries(files))
      await snapshot.write(name, typeof content === 'string' ? content : JSON.stringify(content));
    return folder;
  }

  detect(folder: string, settings: ProjectSettings = {}): Promise<DetectedProject> {
    return this.builds.detect(folder, settings);
  }

  /** Detects and builds; what goes wrong is `failure`. */
  async build(
    folder: string,
    {
      settings = {},
      signal = new AbortController().signal,
      cacheKey = randomUUID(),
      onLog,
    }: BuildOptions = {},
  ): Promise<Built> {
    const built: Built = {
      output: undefined,
      failure: undefined,
      preset: undefined,
      findings: [],
      phases: [],
      log: '',
    };
    try {
      const project = await this.detect(folder, settings);
      built.findings = project.findings;
      built.preset = project.preset;
      built.output = await this.builds.run({
        folder,
        cacheKey,
        project,
        settings,
        signal,
        workspace: this.workspace,
        callerId: randomUUID(),
        onPhase: phase => void built.phases.push(phase),
        onLog: (_stream, text) => {
          built.log += text;
          void onLog?.(text);
        },
      });
    } catch (error) {
      if (!(error instanceof BuildFailure)) throw error;
      built.failure = error.reason;
    }
    return built;
  }
}

/** The registry that npm uses on this machine. */
export const registry = (): string =>
  execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();

/** A project with one dependency. */
export const MS = { name: 'app', version: '1.0.0', dependencies: { ms: '2.1.3' } };
/** Its lock file. */
export const LOCK = {
  name: 'app',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': MS,
    'node_modules/ms': {
      version: '2.1.3',
      integrity:
        'sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==',
    },
  },
};

/** For tests that install packages: without network there is nothing to install from, and all others still run. */
export const itWithRegistry = (await isReached()) ? it : it.skip;

async function isReached(): Promise<boolean> {
  try {
    return (await fetch(new URL('ms', registry()), { signal: AbortSignal.timeout(20_000) })).ok;
  } catch {
    return false;
  }
}

export interface BuildOptions {
  settings?: ProjectSettings;
  signal?: AbortSignal;
  cacheKey?: string;
  onLog?: (text: string) => void | Promise<void>;
}

/** The text of a file that a build made; null where there is none. */
export async function builtFile({ output, failure, log }: Built, name: string): Promise<string | null> {
  if (!output) throw new Error(`The build failed: ${failure}\n${log.slice(-4000)}`);
  const files = new WorkspaceFs(output.folder, { maxFileBytes: 0 });
  const file = output.path === '' ? name : `${output.path}/${name}`;
  return (await files.find(file)) ? (await files.readBytes(file, 1024 ** 2)).toString() : null;
}
