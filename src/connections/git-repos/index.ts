export { GitReposModule } from './git-repos.module.js';
export { gitCloned, gitCloneFailed } from './records/git-events.js';
