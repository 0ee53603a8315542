/** A template that comes with the service. */
export interface Builtin {
  /** Never change it: workspaces remember the template by it. */
  readonly slug: string;
  /** Contents by path; `template.yaml` says what it is. */
  readonly files: Readonly<Record<string, string>>;
}
