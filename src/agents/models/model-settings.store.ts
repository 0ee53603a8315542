import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../../platform/config/index.js';
import { Database, dryRun, type UnitOfWork } from '../../platform/database/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';
import { ModelCatalog } from './model-catalog.js';

const TOPIC = defineTopic('model-settings')();
/** A signal may be lost with its connection. */
const BELIEVED_MS = 5_000;
const MAX_KNOWN = 10_000;
const settingsCache = () => new LRUCache<string, ModelSettings>({ max: MAX_KNOWN, ttl: BELIEVED_MS });

/** Where organizations' decisions about models are kept. Asked for at every run, so what was read is kept until it changes. */
@Injectable()
export class ModelSettingsStore {
  /** Of organizations whose admins have decided nothing. */
  private readonly undecided: ModelSettings;
  private known = settingsCache();

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly catalog: ModelCatalog,
    @Inject(Config) { organizationModels }: Config,
  ) {
    this.undecided = ModelSettings.undecided(organizationModels, catalog);
    topics.subscribe(TOPIC, () => {
      this.known = settingsCache();
    });
  }

  async of(organizationId: string): Promise<ModelSettings> {
    // What it has written is undone.
    if (dryRun()) return this.read(organizationId);
    const { known } = this;
    const found = known.get(organizationId);
    if (found) return found;
    const settings = await this.read(organizationId);
    // Into the map of before: if something changed meanwhile, that one is forgotten.
    known.set(organizationId, settings);
    return settings;
  }

  /**
   * The id of the model to use in an organization; null asks for its default. Throws ModelUnusable, naming `field`, for
   * one that is not there or not enabled.
   */
  async resolve(organizationId: string, requested: string | null, field?: string): Promise<string> {
    return (await this.of(organizationId)).choose(requested, field);
  }

  /** As {@link resolve}, with the models to ask where that one cannot answer: those named, else the organization's. */
  async resolveAll(
    organizationId: string,
    { model, field, fallback }: { model: string | null; field?: string; fallback?: readonly string[] },
  ): Promise<{ model: string; fallback: string[] }> {
    const settings = await this.of(organizationId);
    const first = settings.choose(model, field);
    for (const id of fallback ?? []) settings.choose(id, 'fallback_models');
    const next = fallback ?? settings.fields.fallback.filter(id => !settings.reasonAgainst(id));
    return { model: first, fallback: [...new Set(next)].filter(id => id !== first) };
  }

  private async read(organizationId: string): Promise<ModelSettings> {
    const row = await this.database
      .tables()
      .selectFrom('organization_models')
      .select(['enabled', 'disabled', 'default_model', 'fallback', 'new_models'])
      .where('organization_id', '=', organizationId)
      .executeTakeFirst();
    if (!row) return this.undecided;
    const { enabled, disabled, default_model: defaultModel, fallback, new_models: newModels } = row;
    return new ModelSettings({ enabled, disabled, defaultModel, fallback, newModels }, this.catalog);
  }

  /** Replaces all of it in one statement: of two that come at once, one is what stays. */
  async save(unit: UnitOfWork, organizationId: string, fields: ModelSettingsFields): Promise<void> {
    const values = {
      enabled: [...fields.enabled],
      disabled: [...fields.disabled],
      default_model: fields.defaultModel,
      fallback: [...fields.fallback],
      new_models: fields.newModels,
      updated_at: new Date().toISOString(),
    };
    await unit
      .tables()
      .insertInto('organization_models')
      .values({ organization_id: organizationId, ...values })
      .onConflict(conflict => conflict.column('organization_id').doUpdateSet(values))
      .execute();
    this.topics.publishAfterCommit(unit, TOPIC);
  }
}

export const NEW_MODELS = ['enabled', 'disabled'] as const;

/** What an organization's admins decided about models, as it is stored. */
export interface ModelSettingsFields {
  readonly enabled: readonly string[];
  /** Known when the admins decided, and not enabled by them. */
  readonly disabled: readonly string[];
  /** Used when none is named; null: the installation's. */
  readonly defaultModel: string | null;
  /** Asked in this order, where a message names none, when the model that was chosen cannot answer. */
  readonly fallback: readonly string[];
  /** What becomes of models that the admins have not decided about. */
  readonly newModels: (typeof NEW_MODELS)[number];
}

/** Which models an organization may use. */
export class ModelSettings {
  /** Those of an organization whose admins have decided nothing: the models that the operator gives such, or all. */
  static undecided(given: readonly string[], catalog: ModelCatalog): ModelSettings {
    const newModels = given.length > 0 ? 'disabled' : 'enabled';
    const fields = { enabled: given, disabled: [], defaultModel: null, fallback: [], newModels } as const;
    return new ModelSettings(fields, catalog);
  }

  constructor(
    readonly fields: ModelSettingsFields,
    private readonly catalog: ModelCatalog,
  ) {}

  allows(id: string): boolean {
    const { enabled, disabled, newModels } = this.fields;
    if (enabled.includes(id)) return true;
    return newModels === 'enabled' && this.catalog.ids.includes(id) && !disabled.includes(id);
  }

  /** The models to speak of: those known, and those that its admins named. */
  ids(): string[] {
    return [...new Set([...this.catalog.ids, ...this.fields.enabled])];
  }

  usable(): string[] {
    return this.ids().filter(id => this.reasonAgainst(id) === undefined);
  }

  /** Why a model cannot be used; undefined where it can. */
  reasonAgainst(id: string): string | undefined {
    const unlisted = `the model "${id.slice(0, 200)}" is not listed here; an admin can enable it by name`;
    const disabled = `the model "${id}" is not enabled for this organization, which an admin can change`;
    const refusal = this.catalog.ids.includes(id) ? disabled : unlisted;
    return this.catalog.faultOf(id) ?? (this.allows(id) ? undefined : refusal);
  }

  /** The model that is asked for, or the default. */
  choose(requested: string | null, field?: string): string {
    if (requested !== null) {
      const reason = this.reasonAgainst(requested);
      if (reason) throw new ModelUnusable(reason, field);
      return requested;
    }
    const found = this.defaultAmong(this.usable());
    if (!found) throw new Invalid('model: none is enabled for this organization, which an admin can change');
    return found;
  }

  /** Which model is used when none is named: the organization's default, the installation's, else the first allowed. */
  defaultAmong(usable: readonly string[]): string | undefined {
    const wanted = [this.fields.defaultModel, this.catalog.defaultId, ...usable];
    return wanted.find((id): id is string => id !== null && usable.includes(id));
  }
}

/** A model that is not there, or that the organization may not use (422); the detail says which and why. */
export class ModelUnusable extends Invalid {
  constructor(reason: string, field = 'model') {
    super(`${field}: ${reason}; GET /api/models lists what can be used`);
  }
}
