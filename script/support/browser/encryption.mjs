export async function checkEncryption() {}
