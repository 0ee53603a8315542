import { Injectable } from '@nestjs/common';
import { OrganizationId, OrganizationsStore } from '../../identity/organizations/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { ModelCatalog } from './model-catalog.js';
import { ModelSettings, ModelSettingsStore } from './model-settings.store.js';
import { ListModels, ModelSettingsView, ModelsView, ModelView, UpdateModelSettings } from './models.dto.js';

/** The language models that organizations use. */
@Injectable()
export class ModelsService {
  constructor(
    private readonly database: Database,
    private readonly catalog: ModelCatalog,
    private readonly settings: ModelSettingsStore,
    private readonly organizations: OrganizationsStore,
    private readonly audit: Audit,
  ) {}

  @Action('model_list', 'GET /api/models', {
    summary: 'List the models, those that the organization can use first',
    permission: 'model.list',
    input: ListModels,
    output: ModelsView,
  })
  async list(actor: Actor, { organization_id }: ListModels): Promise<ModelsView> {
    requireScope(actor, 'model.list');
    const id = organization_id ?? (await this.organizations.list(actor, { limit: 1 })).items[0]?.id;
    if (organization_id) await this.organizations.requireMember(actor, organization_id);
    const settings = id ? await this.settings.of(id) : ModelSettings.undecided([], this.catalog);
    return { items: this.viewsFor(settings), next_cursor: null };
  }

  @Action('model_settings_get', 'GET /api/organizations/:orgId/models', {
    summary: 'Tell which models an organization may use',
    effect: 'read',
    permission: 'model.configure',
    input: OrganizationId,
    output: ModelSettingsView,
  })
  async readSettings(actor: Actor, { organization_id }: OrganizationId): Promise<ModelSettingsView> {
    const { id } = await this.organizations.require(actor, 'model.configure', organization_id);
    const settings = await this.settings.of(id);
    const ids = settings.ids();
    return {
      enabled: ids.filter(model => settings.allows(model)),
      disabled: ids.filter(model => !settings.allows(model)),
      default: settings.fields.defaultModel,
      fallback: [...settings.fields.fallback],
      new_models: settings.fields.newModels,
    };
  }

  @Action('model_settings_update', 'PUT /api/organizations/:orgId/models', {
    summary: 'Decide which models an organization may use; replaces all that was decided before',
    consequence:
      'Prompts and files that agents read are then sent to these models, at the organization’s cost.',
    permission: 'model.configure',
    input: UpdateModelSettings,
    output: ModelSettingsView,
  })
  async updateSettings(actor: Actor, input: UpdateModelSettings): Promise<ModelSettingsView> {
    const { organization_id, default: defaultModel = null, new_models: newModels = 'disabled' } = input;
    const [enabled, fallback] = [[...new Set(input.enabled)], [...new Set(input.fallback)]];
    const { id } = await this.organizations.require(actor, 'model.configure', organization_id);
    const known = (await this.settings.of(id)).ids();
    const unknown = enabled.filter(model => !known.includes(model) && this.catalog.faultOf(model));
    if (unknown.length > 0)
      throw new Invalid(`enabled names models that are not there: ${unknown.slice(0, 20).join(', ')}`);
    if (defaultModel !== null && !enabled.includes(defaultModel))
      throw new Invalid(`default must be one of enabled, which "${defaultModel.slice(0, 200)}" is not`);
    const outside = fallback.filter(model => !enabled.includes(model));
    if (outside.length > 0)
      throw new Invalid(`fallback names models that are not among enabled: ${outside.join(', ')}`);
    const disabled = known.filter(model => !enabled.includes(model));
    await this.database.transaction(async unit => {
      await this.organizations.requireLocked(unit, actor, 'model.configure', id);
      await this.settings.save(unit, id, { enabled, disabled, defaultModel, fallback, newModels });
      const target = { type: 'organization', id, organization_id: id };
      const details = { enabled, default: defaultModel, fallback, new_models: newModels };
      await this.audit.record(unit, actor, 'model_settings_update', target, details);
    });
    return this.readSettings(actor, { organization_id: id });
  }

  private viewsFor(settings: ModelSettings): ModelView[] {
    const usable = settings.usable();
    const defaultId = settings.defaultAmong(usable);
    const others = settings.ids().filter(id => !usable.includes(id));
    return [...usable, ...others].map(id => {
      const reason = settings.reasonAgainst(id);
      return {
        ...this.factsOf(id),
        enabled: !reason,
        default: id === defaultId,
        ...(reason ? { reason } : {}),
      };
    });
  }

  private factsOf(id: string) {
    const slash = id.indexOf('/');
    const { provider, name, context_window, price, input } = this.catalog.describe(id) ?? {
      provider: id.slice(0, slash),
      name: id.slice(slash + 1),
      context_window: null,
      price: null,
      input: [],
    };
    return { id, provider, name, context_window, price, input: [...input] };
  }
}
