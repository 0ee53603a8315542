export { gitCloned, gitCloneFailed } from './clone-queue.js';
export { GitReposModule } from './git-repos.module.js';
