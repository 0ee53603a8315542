export type { BuildJob, BuildOutput } from './build-job.js';
export { BuildsModule } from './builds.module.js';
export { FolderDependencies } from './folder-dependencies.js';
export { BuildFailure } from './project/build-failure.js';
export type { DetectedProject, ProjectFinding, ProjectSettings } from './project/project.js';
export { ProjectBuilds } from './project-builds.js';
