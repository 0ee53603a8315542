export { NamedShells } from './named-shells.js';
export { RunningSandboxes, SessionElsewhere } from './running-sandboxes.js';
export { SandboxesModule } from './sandboxes.module.js';
export { SandboxesService } from './sandboxes.service.js';
export { lostNote, notesOf } from './script-notes.js';
export type { ScriptResult } from './script-result.js';
export { Shell } from './shell.js';
