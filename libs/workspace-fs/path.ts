import { randomBytes, randomUUID } from 'node:crypto';
import { WorkspaceFsError } from './errors.js';
import { quotePath } from './quote-path.js';

/** Deeper folders are neither made nor entered: a walk holds one descriptor a level. */
export const MAX_COMPONENTS = 100;
export const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
const TEMPORARY_PREFIX = '.atelier-tmp-';
/** The process that made it, then what tells it from others. */
const TEMPORARY_NAME = /^\.atelier-tmp-([0-9a-f]{12})-[0-9a-f]{24}$/;

/** A name as this library makes them: hidden from lists, searches and copies. All that is only similar is a name like any other. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX) && TEMPORARY_NAME.test(name);
}

/** Of a temporary name, which process made it, as far as the name says: anyone who writes to a workspace may use such a name. */
export function makerOf(name: string): string | undefined {
  return TEMPORARY_NAME.exec(name)?.[1];
}

/** In the names of temporaries that this process makes, so that its own can be recognized when it is gone. */
export const TEMPORARY_MAKER = randomBytes(6).toString('hex');

/** A name that nothing has yet. */
export function newTemporaryName(): string {
  // Of its digits, those that are random: many are made at once, which costs less than to ask for each.
  const id = randomUUID();
  return `${TEMPORARY_PREFIX}${TEMPORARY_MAKER}-${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(24)}`;
}

export function isTemporaryOf(maker: string, name: string): boolean {
  return name.startsWith(`${TEMPORARY_PREFIX}${maker}-`);
}

/**
 * The canonical relative form, without regard to what it is relative to: components joined by single slashes, '' for the root. Bytes are kept
 * as they are: no case folding, no Unicode normalization.
 * @throws WorkspaceFsError invalid_path, whose message says what is wrong
 */
export function normalizePath(input: string): string {
  if (!input.isWellFormed()) throw invalid('The path holds half of a surrogate pair', '');
  if (input.includes('\0')) throw invalid('The path holds a NUL character', '');
  const components = input.split('/').filter(component => component !== '' && component !== '.');
  const path = components.join('/');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw invalid(`The path is longer than ${MAX_PATH_BYTES} bytes`, path);
  }
  if (components.length > MAX_COMPONENTS) {
    throw invalid(`The path is more than ${MAX_COMPONENTS} folders deep`, path);
  }
  for (const component of components) refuseComponent(component, path);
  return path;
}

/** Where commands see the workspace. */
export const SEEN_AT = '/workspace';

/**
 * A path as commands of the workspace and people name it, in the form of {@link normalizePath}: relative, or below
 * `/workspace`; `/` is the root.
 * @throws WorkspaceFsError invalid_path, also for other absolute paths
 */
export function workspacePath(input: string): string {
  if (!input.startsWith('/')) return normalizePath(input);
  if (input === SEEN_AT || input.startsWith(`${SEEN_AT}/`)) return normalizePath(input.slice(SEEN_AT.length));
  const path = normalizePath(input);
  if (path === '') return path;
  const reason = `${quotePath(`/${path}`)} lies outside the workspace, which is ${SEEN_AT}; name ${quotePath(`${SEEN_AT}/${path}`)} or ${quotePath(path)} for what lies in it`;
  throw invalid(reason, path);
}

function refuseComponent(component: string, path: string): void {
  if (component === '..') throw invalid(`${quotePath(path)} holds "..", which is not allowed`, path);
  if (Buffer.byteLength(component) > MAX_NAME_BYTES) {
    throw invalid(`A name in ${quotePath(path)} is longer than ${MAX_NAME_BYTES} bytes`, path);
  }
  if (isTemporaryName(component)) {
    throw invalid(`Names like ${quotePath(component)} are reserved for temporary files`, path);
  }
}

function invalid(message: string, path: string): WorkspaceFsError {
  return new WorkspaceFsError('invalid_path', path, message);
}

/** The components of a normalized path; none for the root. */
export function componentsOf(path: string): string[] {
  return path === '' ? [] : path.split('/');
}

export function joinPath(parent: string, name: string): string {
  return parent === '' ? name : `${parent}/${name}`;
}

/** Of a normalized path; '' is the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Whether `path` lies somewhere below the folder `ancestor`; both normalized. */
export function isBelow(path: string, ancestor: string): boolean {
  return path !== ancestor && (ancestor === '' || path.startsWith(`${ancestor}/`));
}
