/** A project cannot be built as it is; `reason` is one sentence or more for whoever publishes it. */
export class BuildFailure extends Error {
  override readonly name = 'BuildFailure';

  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(reason, options);
  }
}
