import type { Effect } from './action.js';
import type { ActionCaller } from './action-caller.js';
import type { ActionCatalog } from './action-catalog.js';
import type { CatalogAction } from './catalog-action.js';

export interface ActionQuery {
  readonly q?: string;
  readonly effect?: Effect;
}

/** The actions that suit a question and that the caller may run, as far as its kind and its allowlist go. */
export function actionsFor(
  caller: ActionCaller,
  catalog: ActionCatalog,
  query: ActionQuery,
): CatalogAction[] {
  return catalog
    .find(query.q)
    .filter(({ declaration }) => query.effect === undefined || declaration.effect === query.effect)
    .filter(({ declaration }) => caller.objection(declaration) === undefined);
}
