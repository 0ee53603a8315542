import { Inject, Injectable } from '@nestjs/common';
import { type ModelInfo, ModelRegistry, type ProviderSettings } from '#libs/model-client/index.js';
import { OrganizationsStore } from '../../identity/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { requireScope } from '../../platform/access/policy.js';
import { Action } from '../../platform/actions/action.js';
import { Config } from '../../platform/config/config.js';
import { Invalid } from '../../platform/http/problem.js';
import { ListModels, ModelsView, ModelView } from './models.dto.js';

/** The language models that this installation can use. */
@Injectable()
export class ModelsService {
  private readonly registry: ModelRegistry;

  constructor(
    @Inject(Config) config: Config,
    @Inject(OrganizationsStore) private readonly organizations: OrganizationsStore,
  ) {
    this.registry = new ModelRegistry(providerSettings(config), { default: config.defaultModel });
  }

  @Action({
    name: 'model_list',
    summary: 'List the models that can be used',
    effect: 'read',
    permission: 'model.list',
    input: ListModels,
    output: ModelsView,
  })
  async list(actor: Actor, { organization_id }: ListModels): Promise<ModelsView> {
    requireScope(actor, 'model.list');
    if (organization_id) await this.organizations.require(actor, 'organization.read', organization_id);
    const items = this.registry.list().map(info => modelView(info, this.registry.defaultId()));
    return { items, next_cursor: null };
  }

  /** The id to use for `requested`; throws Invalid for a model that is not there. */
  resolve(requested: string | null | undefined): string {
    const id = requested ?? this.registry.defaultId();
    if (!this.registry.find(id))
      throw new Invalid(
        `model: there is no model "${id.slice(0, 100)}" here; GET /api/models lists those there are`,
      );
    return id;
  }

  /** The model to call; undefined when its provider is no longer configured. */
  find(id: string) {
    const model = this.registry.find(id);
    return model && { model, price: this.registry.describe(id)?.price ?? null };
  }
}

function modelView({ id, provider, name, context_window, price }: ModelInfo, defaultId: string): ModelView {
  return { id, provider, name, enabled: true, default: id === defaultId, context_window, price };
}

function providerSettings(config: Config): ProviderSettings {
  const {
    compatibleBaseUrl,
    compatibleName: name,
    compatibleApiKey: apiKey,
    compatibleModels: models,
  } = config;
  const provider = (apiKey: string | undefined, baseUrl: string | undefined) =>
    apiKey ? { apiKey, baseUrl } : undefined;
  return {
    openai: provider(config.openaiApiKey, config.openaiBaseUrl),
    anthropic: provider(config.anthropicApiKey, config.anthropicBaseUrl),
    google: provider(config.googleApiKey, config.googleBaseUrl),
    compatible: compatibleBaseUrl ? [{ name, baseUrl: compatibleBaseUrl, apiKey, models }] : [],
  };
}
