import { Injectable } from '@nestjs/common';
import { BuildFailure } from './project/build-failure.js';
import { detectProject } from './project/detect-project.js';
import type { DetectedProject, ProjectSettings } from './project/project.js';

/** One build of a project, in two sandboxes. */
export interface BuildJob {
  /** The snapshot (an absolute path), which the build changes. It belongs to the account of the workspace. */
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
  /** Lines of `system` are ours. */
  onLog(stream: 'stdout' | 'stderr' | 'system', text: string): void;
  /** Ends the build, which then throws the reason of the signal. */
  signal: AbortSignal;
}

/** What a build has made. Nothing about it can be trusted: read it through a WorkspaceFs on `folder` alone. */
export interface BuildOutput {
  folder: string;
  /** Relative to `folder`; '' is the folder itself. */
  path: string;
}

/** Finds out what a project is, and builds it. */
@Injectable()
export class ProjectBuilds {
  /** Reads manifests of the snapshot; runs nothing. Throws BuildFailure. */
  detect(folder: string, settings: ProjectSettings): Promise<DetectedProject> {
    return detectProject(folder, settings);
  }

  /** Installs (network, no data), then builds (data, no network). Throws BuildFailure. */
  async run({ folder, project }: BuildJob): Promise<BuildOutput> {
    if (project.needsBuild) throw new BuildFailure('Projects that need a build cannot be built yet.');
    return { folder, path: project.output };
  }
}
