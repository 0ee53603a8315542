import { getMetadataStorage, ValidationError, validateSync } from 'class-validator';

/**
 * class-validator looks through the rules of every class that there is each time it checks one. The rules of a class stay
 * the same once it is declared, so they are looked up once.
 */
function rememberRules(): void {
  const storage = getMetadataStorage();
  const lookUp = storage.getTargetValidationMetadatas.bind(storage);
  type LookUp = typeof storage.getTargetValidationMetadatas;
  const known = new Map<Parameters<LookUp>[0], ReturnType<LookUp>>();
  storage.getTargetValidationMetadatas = (target, schema, always, strictGroups, groups) => {
    if (schema || always || strictGroups || groups?.length)
      return lookUp(target, schema, always, strictGroups, groups);
    const found = known.get(target) ?? lookUp(target, schema, always, strictGroups, groups);
    known.set(target, found);
    return found;
  };
}

rememberRules();

/** What is wrong with an instance by the rules of its class, at most one thing for each property. */
export function faultsOf(instance: object): ValidationError[] {
  return validateSync(instance, { stopAtFirstError: true, forbidUnknownValues: false });
}
