import {
  type ColumnNode,
  type CompiledQuery,
  type IdentifierNode,
  type OperationNode,
  PostgresQueryCompiler,
  type RawNode,
  type ReferenceNode,
  type RootOperationNode,
  type TableNode,
  type ValueNode,
} from 'kysely';

type QueryId = CompiledQuery['queryId'];

/** Far more than the statements of a program have; those with lists have many lengths. */
const MAX_STEPS = 30_000;

/** What a parameter is to the text: one like any other. */
const PARAMETER = Symbol('parameter');

/** A place in the statements that begin alike, and how they go on. Most do so in one way. */
class Step {
  /** Of the statement that ends here. */
  text: string | undefined;
  private key: unknown;
  private only: Step | undefined;
  private others: Map<unknown, Step> | undefined;

  next(key: unknown): Step | undefined {
    return this.key === key ? this.only : this.others?.get(key);
  }

  add(key: unknown): Step {
    const step = new Step();
    if (!this.only) {
      this.key = key;
      this.only = step;
    } else {
      this.others ??= new Map();
      this.others.set(key, step);
    }
    return step;
  }
}

/**
 * Makes the text of a statement once. Statements of `sql` templates that differ in their values alone have the same text, and are
 * known by their templates; others are compiled each time.
 */
export class KeptCompiler extends PostgresQueryCompiler {
  private readonly start = new Step();
  private steps = 0;

  override compileQuery(node: RootOperationNode, queryId: QueryId): CompiledQuery {
    const parameters: unknown[] = [];
    const end = node.kind === 'RawNode' ? this.follow(this.start, node, parameters) : undefined;
    if (!end) return super.compileQuery(node, queryId);
    end.text ??= super.compileQuery(node, queryId).sql;
    return { query: node, queryId, sql: end.text, parameters };
  }

  /** Where `node` leads to; undefined where that is not known by its parts. */
  private follow(from: Step, node: OperationNode, parameters: unknown[]): Step | undefined {
    if (node.kind !== 'RawNode') {
      const key = keyOf(node);
      if (key === PARAMETER) parameters.push((node as ValueNode).value);
      return key === undefined ? undefined : this.step(from, key);
    }
    const { sqlFragments, parameters: parts } = node as RawNode;
    // A template is one object for good; what else there is has short texts.
    const isTemplate = 'raw' in sqlFragments;
    let step = this.step(from, isTemplate ? sqlFragments : `sql ${sqlFragments.join('\0')}`);
    for (const part of parts) step = step && this.follow(step, part, parameters);
    return step;
  }

  private step(from: Step, key: unknown): Step | undefined {
    const next = from.next(key);
    if (next || this.steps >= MAX_STEPS) return next;
    this.steps++;
    return from.add(key);
  }
}

/** What the text depends on; undefined where that is more than is looked at here. */
function keyOf(node: OperationNode): unknown {
  switch (node.kind) {
    case 'ValueNode': {
      const { immediate, value } = node as ValueNode;
      if (!immediate) return PARAMETER;
      return value !== null && typeof value === 'object' ? undefined : `lit ${typeof value} ${value}`;
    }
    case 'IdentifierNode':
      return `id ${(node as IdentifierNode).name}`;
    case 'TableNode':
      return tableKey(node as TableNode);
    case 'ReferenceNode': {
      const { table, column } = node as ReferenceNode;
      if (column.kind !== 'ColumnNode') return undefined;
      const { name } = (column as ColumnNode).column;
      return `ref ${table ? tableKey(table) : ''}\0${name}`;
    }
    default:
      return undefined;
  }
}

const tableKey = ({ table: { schema, identifier } }: TableNode): string =>
  `table ${schema ? `${schema.name}\0` : ''}\0${identifier.name}`;
