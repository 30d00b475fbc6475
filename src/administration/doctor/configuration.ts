import { transportWarning } from '../../configuration/database-url.js';
import { readConfiguration } from '../../configuration/read-configuration.js';
import { type Finding, ok, warning } from './finding.js';

/** @throws StartError with everything that is missing or wrong */
export async function examineConfiguration(): Promise<Finding> {
  const ofTransport = transportWarning(readConfiguration(process.env));
  return ofTransport === undefined ? ok('complete') : warning('complete', ofTransport);
}
