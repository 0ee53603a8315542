/** The project cannot be built. `reason` is shown to its publisher. */
export class BuildFailure extends Error {
  override readonly name = 'BuildFailure';

  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(reason, options);
  }
}
