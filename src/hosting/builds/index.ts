export { BuildsModule } from './builds.module.js';
export { BuildFailure } from './project/build-failure.js';
export type { DetectedProject, ProjectFinding, ProjectSettings } from './project/project.js';
export { type BuildJob, type BuildOutput, ProjectBuilds } from './project-builds.js';
