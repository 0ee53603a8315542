import { validate as isUuid } from 'uuid';
import { NotFound } from '../../../platform/errors/index.js';

/** What an `atelier://` address names. */
export type ResourceName =
  | { readonly kind: 'file'; readonly workspaceId: string; readonly path: string }
  | { readonly kind: 'run'; readonly callId: string };

export const FILE_TEMPLATE = 'atelier://workspace/{workspace_id}/{+path}';
export const RUN_TEMPLATE = 'atelier://run/{call_id}';

/** `atelier://workspace/{id}/{path}`; without a path it is the folder itself. */
export function fileUri(workspaceId: string, path = ''): string {
  return `atelier://workspace/${workspaceId}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

export const runUri = (callId: string): string => `atelier://run/${callId}`;

export const noSuchResource = (uri: string) => new NotFound(`There is no resource ${uri.slice(0, 200)}`);

/** What the address names; undefined for one that is not ours. */
export function parseResourceUri(uri: string): ResourceName | undefined {
  const [, kind, id = '', rest = ''] = /^atelier:\/\/(workspace|run)\/([^/]+)(?:\/(.*))?$/s.exec(uri) ?? [];
  if (!isUuid(id)) return undefined;
  if (kind === 'run') return rest === '' ? { kind, callId: id } : undefined;
  const path = decoded(rest);
  return path === undefined ? undefined : { kind: 'file', workspaceId: id, path };
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
