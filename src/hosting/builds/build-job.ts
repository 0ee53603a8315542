import type { LogStream } from './outcome/build-log.js';
import type { DetectedProject, ProjectSettings } from './project/project.js';

/** One build of a project, in two sandboxes. */
export interface BuildJob {
  /** The snapshot (an absolute path below DATA_DIR), which the build changes. It belongs to the account of the workspace. */
  folder: string;
  /** Whose dependencies are kept from build to build: the id of the site. */
  cacheKey: string;
  /** Whose account runs it, and whose rule of egress holds. */
  workspace: { id: string; number: number; organization_id: string };
  /** What the list of running sandboxes shows that it runs for: the id of the version. */
  callerId: string | null;
  project: DetectedProject;
  settings: ProjectSettings;
  onPhase(phase: 'install' | 'build'): void;
  /** What is `system` is ours. All of it together is about 4 MiB at most. */
  onLog(stream: LogStream, text: string): void;
  /** Ends the build, which then throws the reason of the signal. */
  signal: AbortSignal;
}

/** What a step in a sandbox needs to know of what it is part of. */
export type SandboxJob = Pick<BuildJob, 'workspace' | 'callerId' | 'settings' | 'signal'>;

/** What an installation of dependencies needs to know. */
export type InstallJob = SandboxJob &
  Pick<BuildJob, 'cacheKey'> & { readonly project: Pick<DetectedProject, 'manager' | 'install'> };

/** What a build has made. Nothing about it can be trusted: read it through a WorkspaceFs on `folder` alone. */
export interface BuildOutput {
  folder: string;
  /** Relative to `folder`; '' is the folder itself. */
  path: string;
}
