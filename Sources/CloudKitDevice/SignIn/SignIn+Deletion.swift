import CloudKitEncryption
import Foundation

/// The deletion of the account that this device is signed in to.
extension SignIn {
    /// Returns the seconds between the wish and the deletion, as this cloud has them.
    package func deletionGrace(container: String) async throws -> Int64 {
        let (credentials, _) = try signedIn()
        let answer: DeletionAnswer = try await post(
            "accounts/delete", in: container, credentials.proof, as: credentials)
        return answer.graceSeconds
    }

    /// Asks for the deletion of the account. All of its devices are signed out, this one too.
    ///
    /// - Returns: The time from which the account is deleted, in milliseconds since 1970.
    /// - Throws: `SignInError`; `filesRemain` once the wish is known to the cloud.
    package func deleteAccount(password: String, container: String) async throws -> Int64 {
        let (credentials, address) = try signedIn()
        let root = try await root(of: password, address: address, container: container)
        var body = credentials.proof
        body["proof"] = .bytes(root.proof)
        let answer: DeletionAnswer = try await post("accounts/delete", in: container, body, as: credentials)
        guard let due = answer.due else { throw SignInError.answerMalformed }
        try await signOut(container: container)
        return due
    }

    private struct DeletionAnswer: Decodable {
        var graceSeconds: Int64
        var due: Int64?
    }
}
