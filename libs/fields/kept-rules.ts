import {
  getMetadataStorage,
  type ValidationArguments,
  ValidationTypes,
  type ValidatorConstraintInterface,
} from 'class-validator';

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

/** The rules of one property. */
interface PropertyRules {
  readonly name: string;
  /** They hold only where all of these say so. */
  readonly conditions: readonly ((object: object, value: unknown) => boolean)[];
  readonly checks: readonly Check[];
  /** Whether its value is an instance with rules of its own. */
  readonly isNested: boolean;
}

interface Check {
  readonly constraint: ValidatorConstraintInterface;
  readonly rule: Rule;
}

const known = new Map<unknown, readonly PropertyRules[] | undefined>();

/**
 * Whether an instance keeps all rules of its class. False also where that is not certain: then class-validator has to look,
 * which makes a finding of every property first, whether anything is wrong with it or not, at ten times the cost.
 */
export function keepsRules(instance: object): boolean {
  const shape = instance.constructor;
  if (!known.has(shape)) known.set(shape, rulesOf(shape));
  return known.get(shape)?.every(property => keeps(instance, property)) === true;
}

/** Undefined where there is a rule of a kind that is not known here. */
function rulesOf(shape: unknown): PropertyRules[] | undefined {
  const storage = getMetadataStorage();
  const rules = storage.getTargetValidationMetadatas(
    shape as Parameters<typeof storage.getTargetValidationMetadatas>[0],
    '',
    false,
    false,
  );
  if (rules.length === 0 || !rules.every(isKnown)) return undefined;
  return Object.entries(storage.groupByPropertyName(rules)).map(([name, own]) => ({
    name,
    conditions: own
      .filter(isOf(ValidationTypes.CONDITIONAL_VALIDATION))
      .map(({ constraints }) => constraints[0]),
    checks: own
      .filter(isOf(ValidationTypes.CUSTOM_VALIDATION))
      .flatMap(rule => constraintsOf(rule).map(({ instance: constraint }) => ({ constraint, rule }))),
    isNested: own.some(isOf(ValidationTypes.NESTED_VALIDATION)),
  }));
}

const KNOWN: readonly string[] = [
  ValidationTypes.CONDITIONAL_VALIDATION,
  ValidationTypes.CUSTOM_VALIDATION,
  ValidationTypes.NESTED_VALIDATION,
  // Says of a property that it is one, and nothing of its value.
  ValidationTypes.WHITELIST,
];

const isKnown = (rule: Rule): boolean =>
  KNOWN.includes(rule.type) && constraintsOf(rule).every(({ async }) => !async);

const isOf =
  (type: string) =>
  (rule: Rule): boolean =>
    rule.type === type;

const constraintsOf = ({ constraintCls }: Rule) =>
  constraintCls ? getMetadataStorage().getTargetValidatorConstraints(constraintCls) : [];

function keeps(object: object, { name, conditions, checks, isNested }: PropertyRules): boolean {
  const value = (object as Record<string, unknown>)[name];
  if (!conditions.every(holds => holds(object, value))) return true;
  if (isNested && value !== undefined) return false;
  return checks.every(check => passes(object, value, check));
}

function passes(object: object, value: unknown, { constraint, rule }: Check): boolean {
  if (rule.validateIf && !rule.validateIf(object, value)) return true;
  const { propertyName: property, constraints } = rule;
  const about: ValidationArguments = {
    targetName: object.constructor.name,
    property,
    object,
    value,
    constraints,
  };
  if (!rule.each || !isMany(value)) return constraint.validate(value, about) === true;
  return [...value.values()].every(one => constraint.validate(one, about) === true);
}

const isMany = (value: unknown): value is unknown[] | Set<unknown> | Map<unknown, unknown> =>
  Array.isArray(value) || value instanceof Set || value instanceof Map;
