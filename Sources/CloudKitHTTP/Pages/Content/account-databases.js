/** The databases of an account's containers on its page, opened with the account's keys where the page has them. */

/** Makes opened fields carry the JSON that was sealed: the numbers of a page are not exact beyond 2^53. */
function keepExactText(keys, encryption) {
  keys.openedField = async (at, name, given) => {
    const type = given.type.startsWith("ENCRYPTED_") ? given.type : `ENCRYPTED_${given.type}`;
    const types = [type];
    if (type.startsWith("ENCRYPTED_DOUBLE")) types.push(type.replace("DOUBLE", "INT64"));
    if (type.endsWith("_LIST")) types.push("ENCRYPTED_UNKNOWN_LIST");
    let failure;
    for (const tried of types) {
      try {
        const json = new TextDecoder().decode(await encryption.openField(at, name, tried, encryption.fromBase64(given.value)));
        return { value: JSON.parse(json), json, type: tried.replace("ENCRYPTED_", ""), isEncrypted: true };
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };
}

/**
 * Opens the databases of a container.
 *
 * @param {object} line What `accounts/data` lists: the container with a token of this page.
 * @param {object|null} account The account's keys.
 */
export async function openContainer({ container, environment, apiToken, ckWebAuthToken }, account, { CloudKit, encryption }) {
  CloudKit.configure({ encryption, containers: [{ containerIdentifier: container, environment, apiTokenAuth: { apiToken } }] });
  const databases = CloudKit.getContainer(container);
  const connection = databases._connection;
  // The token ends with this page.
  connection.keep = (next) => (connection.token = next || null);
  connection.keep(ckWebAuthToken);
  connection.user = await connection.call(connection.path("database", "public/users/caller"), {});
  if (account) {
    const { secret, identity, keys } = account;
    const bytes = await encryption.containerRoot(secret, container, environment);
    const root = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    connection.keys = await encryption.keysOf({ root, signingKey: keys.signingKey, agreementKey: keys.agreementKey, identity: identity.bytes }, connection);
    keepExactText(connection.keys, encryption);
  }
  return { container, environment, user: connection.user.userRecordName, databases };
}
