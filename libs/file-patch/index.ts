export { type AppliedPatch, applyHunks, HunkMismatch } from './apply-hunks.js';
export { type FilePatch, type Hunk, PatchError } from './file-patch.js';
export { parsePatch } from './parse-patch.js';
