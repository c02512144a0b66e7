export async function checkSharePage() {}
