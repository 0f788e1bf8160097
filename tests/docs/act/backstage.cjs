// Checks entities as Backstage's catalog does: a JSON list on standard input, one line for each that it refuses.
const catalog = require('@backstage/catalog-model');

const policy = catalog.EntityPolicies.allOf([
  new catalog.SchemaValidEntityPolicy(),
  new catalog.DefaultNamespaceEntityPolicy(),
  new catalog.NoForeignRootFieldsEntityPolicy(),
  new catalog.FieldFormatEntityPolicy(),
]);

(async () => {
  for (const entity of JSON.parse(require('fs').readFileSync(0, 'utf-8'))) {
    try {
      await policy.enforce(entity);
      if (!(await catalog.resourceEntityV1alpha1Validator.check(entity))) throw new Error('it is no Resource');
    } catch (error) {
      console.log(`${entity.metadata.name}: ${error.message}`);
    }
  }
})();
