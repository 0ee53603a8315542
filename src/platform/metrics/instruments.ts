/** What a metric is called and means. Its labels have few values, known beforehand: never an id, a name or an address. */
export interface Definition<Label extends string = never> {
  /** As Prometheus names metrics: with its unit, in base units, `_total` at the end of what only grows. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

export type Labels<Label extends string> = Readonly<Record<Label, string>>;

/** What a gauge shows for some values of its labels. */
export interface Reading<Label extends string> {
  readonly labels: Labels<Label>;
  readonly value: number;
}

export interface Counter<Label extends string> {
  add(labels: Labels<Label>, by?: number): void;
}

export interface Histogram<Label extends string> {
  observe(labels: Labels<Label>, value: number): void;
}
