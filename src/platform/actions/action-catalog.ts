import { Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { providerMethods } from '../discovery/index.js';
import { NotFound } from '../errors/index.js';
import { declarationOf } from './action.js';
import { ActionSearch } from './action-search.js';
import { CatalogAction } from './catalog-action.js';

/** Two methods declare the same capability: the service does not start. */
export class DuplicateAction extends Error {}

/** Every capability of the service, gathered at boot from what the services declare. */
@Injectable()
export class ActionCatalog implements OnModuleInit {
  private actions: ReadonlyMap<string, CatalogAction> = new Map();
  /** Made when it is first asked: it takes megabytes, and many processes never search. */
  private search: ActionSearch | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    this.actions = this.discover();
  }

  /** Every action that any surface but plain HTTP may offer, by name. */
  list(): CatalogAction[] {
    return [...this.actions.values()];
  }

  /** Those that suit the words, the best first; all of them, by name, without words. */
  find(words: string | undefined): CatalogAction[] {
    if (!words?.trim()) return this.list();
    this.search ??= new ActionSearch(this.list());
    return this.search.find(words);
  }

  get(name: string): CatalogAction | undefined {
    return this.actions.get(name);
  }

  require(name: string): CatalogAction {
    const action = this.actions.get(name);
    if (!action) throw new NotFound(`There is no action ${name.slice(0, 64)}`);
    return action;
  }

  private discover(): Map<string, CatalogAction> {
    const found = new Map<string, CatalogAction>();
    for (const { instance, method } of providerMethods(this.discovery, this.scanner)) {
      const declaration = declarationOf(method);
      if (!declaration) continue;
      const { name } = declaration;
      if (found.has(name))
        throw new DuplicateAction(`Two methods declare the action ${name}; the second is ${method.name}`);
      found.set(name, new CatalogAction(declaration, instance, method));
    }
    const shown = [...found].filter(([, { declaration }]) => !declaration.restOnly);
    return new Map(shown.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
