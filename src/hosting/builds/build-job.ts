import type { LogStream } from './build-log.js';
import type { DetectedProject, ProjectSettings } from './project/project.js';

export interface BuildJob {
  /** The snapshot (an absolute path below DATA_DIR), which the build changes. It belongs to the account of the workspace. */
  folder: string;
  /** Key of the dependencies kept between builds: the site id. */
  cacheKey: string;
  /** The workspace whose account and egress rule apply. */
  workspace: { id: string; number: number; organization_id: string };
  /** Id shown in the list of running sandboxes: the version id. */
  callerId: string | null;
  project: DetectedProject;
  settings: ProjectSettings;
  onPhase(phase: 'install' | 'build'): void;
  /** `system` lines come from the service. Receives about 4 MiB at most. */
  onLog(stream: LogStream, text: string): void;
  /** Aborts the build, which then throws the reason. */
  signal: AbortSignal;
}

export type SandboxJob = Pick<BuildJob, 'workspace' | 'callerId' | 'settings' | 'signal'>;

export type InstallJob = SandboxJob &
  Pick<BuildJob, 'cacheKey'> & { readonly project: Pick<DetectedProject, 'manager' | 'install'> };

/** Output of a build. Untrusted: read it only through a WorkspaceFs on `folder`. */
export interface BuildOutput {
  folder: string;
  /** Relative to `folder`; '' is the folder itself. */
  path: string;
}
