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
