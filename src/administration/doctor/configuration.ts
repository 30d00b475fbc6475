import { transportWarning } from '../../configuration/database-url.js';
import { nodeEnvironmentWarnings } from '../../configuration/node-environment.js';
import { readConfiguration } from '../../configuration/read-configuration.js';
import { type Finding, ok, warning } from './finding.js';

/** @throws StartError with everything that is missing or wrong */
export async function examineConfiguration(): Promise<Finding> {
  const configuration = readConfiguration(process.env);
  const warnings = [...(configuration.warnings ?? [])];
  const ofTransport = transportWarning(configuration);
  if (ofTransport) warnings.push(ofTransport);
  return warnings.length > 0 ? warning('complete', warnings.join('; ')) : ok('complete');
}

/** Apart from the configuration, since these variables may be why the others seem wrong. */
export async function examineNodeEnvironment(): Promise<Finding> {
  const { node: version } = process.versions;
  const warnings = nodeEnvironmentWarnings(process.env, version);
  const text = `version ${version}`;
  return warnings.length > 0 ? warning(text, warnings.join('; ')) : ok(text);
}
