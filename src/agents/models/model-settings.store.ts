import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, dryRun, type UnitOfWork } from '../../platform/database/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';

const TOPIC = defineTopic('model-settings')();
/** A signal may be lost with its connection. */
const BELIEVED_MS = 5_000;
const MAX_KNOWN = 10_000;

/** Where organizations' decisions about models are kept. Asked for at every run, so what was read is kept until it changes. */
@Injectable()
export class ModelSettingsStore {
  /** Of organizations whose admins have decided nothing. */
  private readonly undecided: ModelSettings;
  private known = new Map<string, { settings: ModelSettings; until: number }>();

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    @Inject(Config) { organizationModels }: Config,
  ) {
    this.undecided = ModelSettings.undecided(organizationModels);
    topics.subscribe(TOPIC, () => {
      this.known = new Map();
    });
  }

  async of(organizationId: string): Promise<ModelSettings> {
    // What it has written is undone.
    if (dryRun()) return this.read(organizationId);
    const { known } = this;
    const found = known.get(organizationId);
    if (found && found.until > Date.now()) return found.settings;
    const settings = await this.read(organizationId);
    if (known.size >= MAX_KNOWN) known.clear();
    // Into the map of before: if something changed meanwhile, that one is forgotten.
    known.set(organizationId, { settings, until: Date.now() + BELIEVED_MS });
    return settings;
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
    return new ModelSettings({ enabled, disabled, defaultModel, fallback, newModels });
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
    unit.afterCommit(() => this.topics.publish(TOPIC));
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
  static undecided(given: readonly string[]): ModelSettings {
    const newModels = given.length > 0 ? 'disabled' : 'enabled';
    return new ModelSettings({ enabled: given, disabled: [], defaultModel: null, fallback: [], newModels });
  }

  constructor(readonly fields: ModelSettingsFields) {}

  allows(id: string): boolean {
    const { enabled, disabled, newModels } = this.fields;
    if (enabled.includes(id)) return true;
    return newModels === 'enabled' && !disabled.includes(id);
  }

  /** Which model is used when none is named: the organization's default, the installation's, else the first allowed. */
  defaultAmong(usable: readonly string[], installationDefault: string): string | undefined {
    const wanted = [this.fields.defaultModel, installationDefault, ...usable];
    return wanted.find((id): id is string => id !== null && usable.includes(id));
  }
}
