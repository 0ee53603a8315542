import { Shape } from '#libs/fields/index.js';
import { type Effect, type Permission, POLICY } from '../access/index.js';

/** What becomes of a call: it is made, a person is asked, or it is refused. */
export const VERDICTS = ['auto', 'ask', 'deny'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The effects that have to be named in full, and that a person is asked about. */
export const isGrave = (effect: Effect): boolean => effect === 'destructive' || effect === 'expose';

/** An image that a tool gives. */
export interface ToolImage {
  readonly path: string;
  readonly mediaType: string;
  /** In base64. */
  readonly data: string;
}

/** How an action is offered as a tool by itself, under one name for agents and for MCP clients. */
export interface ToolDeclaration {
  readonly name: string;
  /** What people call it. */
  readonly title: string;
  /** For a model: what it does, when to use it, what to mind. */
  readonly description: string;
  /** Fields that the tool calls otherwise than the action: its name for each, and the action's. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Agents have it, too, for the workspace of their run; absent: MCP clients alone. */
  readonly agents?: {
    /** What a model reads of the output. */
    text(output: object): string;
    /** The images that go with that, for models that see. */
    images?(output: object): readonly ToolImage[];
    /** The paths of the workspace that it has changed. */
    changed?(output: object): readonly string[];
    /** What it goes by where the model does not say. */
    readonly defaults?: object;
    /** What it does in a sentence, for a model in a run, whose prompt says the rest: it is sent with every request. */
    readonly brief: string;
    /** The fields that such a model is told of, see `FieldWords`; the others are taken all the same. */
    readonly told: Readonly<Record<string, string>>;
  };
}

/**
 * One capability, declared once beside the method that does it. Every surface (REST, agent tools, MCP, exec tokens)
 * is a projection of this declaration.
 */
export interface ActionDeclaration {
  /** `^[a-z][a-z0-9_]{2,63}$`, noun first: `workspace_rename`. */
  readonly name: string;
  /**
   * The input field that names what it is about, `workspace_id`; where the field does not say of what kind that is, with its
   * noun: `{ id: 'chat' }`. Where there are several, those that are given count. Checked at boot, see {@link Subjects}.
   */
  readonly on?: string | Readonly<Record<string, string>>;
  /** Where it is served over HTTP, by `RoutesOf` its service. */
  readonly route?: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  /** One line, imperative: what it does. */
  readonly summary: string;
  /** What a sentence or two must say beyond the summary. */
  readonly description?: string;
  /** What people call it; absent: its name in words. */
  readonly title?: string;
  readonly effect: Effect;
  /** What this input does, where that may be less than `effect`, which is the most that any input does. */
  readonly effectOf?: (input: Readonly<Record<string, unknown>>) => Effect;
  /** What a person should know before they allow it, one or two sentences; for what is destructive or exposes. */
  readonly consequence?: string;
  /** What the caller must be allowed; null for what any signed-in caller may do to what is theirs. */
  readonly permission: Permission | null;
  readonly input: Shape | null;
  readonly output: Shape;
  /** Its place among the few tools that are offered by themselves; absent: it is found in the catalog. */
  readonly tool?: ToolDeclaration;
  /** Served over HTTP alone: it streams, or its input or output is raw bytes. No other surface lists it. */
  readonly restOnly?: true;
  /** For a person's own sign-in alone: no key, service account, run or token can do it. */
  readonly sessionOnly?: true;
  /** For a person, signed in or by a key: no service account, run, exec token or application can do it, also with an approval. */
  readonly personOnly?: true;
  /** The field that names what it makes, by an id of the caller's choice: nothing has that id yet. */
  readonly makes?: string;
  /** A POST of it commits its answer with its work, by `unit.answers`: after a crash there are both or neither. */
  readonly commitsAnswer?: true;
  /** Its method takes a signal as its third argument, and ends when that is aborted. */
  readonly cancellable?: true;
  /** For a POST that works outside the database: how to see whether one that was cut off was done. */
  readonly evidence?: string;
  /** What it can refuse beyond validation and access: status → when. */
  readonly refuses?: Readonly<Record<number, string>>;
}

/** The declaration as it holds for one input, checked or not; without one, as for an input that says nothing. */
export function declarationFor<D extends { effect: Effect | null } & Pick<ActionDeclaration, 'effectOf'>>(
  declaration: D,
  input: unknown = {},
): D {
  const { effectOf } = declaration;
  const isObject = typeof input === 'object' && input !== null;
  return effectOf && isObject ? { ...declaration, effect: effectOf({ ...input }) } : declaration;
}

/** What running an action takes, besides what the action takes itself. */
export const permissionToRun = (effect: Effect): 'action.read' | 'action.run' =>
  effect === 'read' ? 'action.read' : 'action.run';

/** What a person should know before they allow it. */
export const consequenceOf = ({ name, consequence }: ActionDeclaration): string => {
  if (consequence === undefined) throw new Error(`The action ${name} has no consequence`);
  return consequence;
};

/** The fields that name what an action is about, each with the noun of that. */
export const subjectsOf = ({ on = {} }: Pick<ActionDeclaration, 'on'>): [field: string, noun: string][] =>
  typeof on === 'string' ? [[on, on.replace(/_id$/, '')]] : Object.entries(on);

const DECLARATION = Symbol('action');
const NAME = /^[a-z][a-z0-9_]{2,63}$/;

type Route = NonNullable<ActionDeclaration['route']>;

/** A declaration without its name and route, and without what {@link POLICY} says of its permission. */
type ActionDetails = Omit<ActionDeclaration, 'name' | 'route' | 'effect' | 'on'> &
  Partial<Pick<ActionDeclaration, 'effect' | 'on'>>;

/**
 * Declares a service method as a capability: `(actor, input) => Promise<output>`. Its `effect` is that of its permission, and
 * it is `on` the `workspace_id` or `organization_id` that its permission is about, where it says nothing else.
 */
export function Action(name: string, route: Route, details: ActionDetails): MethodDecorator;
/** A capability that `RoutesOf` gives no route. */
export function Action(name: string, details: ActionDetails): MethodDecorator;
export function Action(name: string, ...rest: [ActionDetails] | [Route, ActionDetails]): MethodDecorator {
  const details = rest.at(-1) as ActionDetails;
  const route = rest.length === 2 ? rest[0] : undefined;
  const declaration: ActionDeclaration = { ...fromPolicy(name, details), name, route };
  const { effect, consequence } = declaration;
  if (!NAME.test(name)) throw new Error(`Action name ${name} does not match ${NAME}`);
  if (isGrave(effect) !== (consequence !== undefined))
    throw new Error(`The action ${name} is ${effect}: only what is destructive or exposes has a consequence`);
  return (_target, _key, descriptor) => {
    if (descriptor.value) Reflect.defineMetadata(DECLARATION, declaration, descriptor.value as object);
  };
}

/** The details with the effect and the subject that follow from the permission. */
function fromPolicy(name: string, details: ActionDetails): ActionDetails & { effect: Effect } {
  const rule = details.permission && POLICY[details.permission];
  const effect = details.effect ?? rule?.effect;
  if (!effect) throw new Error(`The action ${name} has neither a permission nor an effect`);
  const isWithin = rule?.on === 'workspace' || rule?.on === 'organization';
  return { ...details, effect, on: details.on ?? (isWithin ? `${rule.on}_id` : undefined) };
}

/** The declaration of a method, if it has one. */
export const declarationOf = (method: object): ActionDeclaration | undefined =>
  Reflect.getMetadata(DECLARATION, method);

/** The declaration of a service method; throws where there is none, which is a mistake in our own code. */
export function actionOf(method: object): ActionDeclaration {
  const declaration = declarationOf(method);
  if (!declaration)
    throw new Error(`${'name' in method ? method.name : 'A method'} is served but has no @Action`);
  return declaration;
}
