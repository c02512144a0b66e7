/// A container in which an account has data, with the API token of the cloud's own pages.
package struct AccountContainer: Decodable, Hashable, Sendable {
    /// The name of the container.
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// The API token with which the account's owner reads their data without the app's.
    package var apiToken: String
    /// The record name of the user; nil where the account has not been to the container.
    package var userRecordName: String?
    /// Records of the private database.
    package var records: Int64
    /// Stored bytes of those records.
    package var recordBytes: Int64
    /// Bytes of the files of the private database.
    package var assetBytes: Int64
    /// Bytes that the private database may hold; nil: no limit.
    package var quotaBytes: Int64?
}

/// The places of the data of the account that this device is signed in to.
extension SignIn {
    /// Returns the containers that know the account, in both environments.
    ///
    /// - Parameters:
    ///   - named: Names of further containers, which are in the answer if the cloud has them.
    ///   - container: A container that this device can open.
    /// - Throws: `SignInError`; `refused` where the cloud lists more containers than one answer holds.
    package func containers(alsoNamed named: [String] = [], container: String) async throws -> [AccountContainer] {
        let credentials = try signedIn().credentials
        var body = credentials.proof
        if !named.isEmpty { body["containers"] = .texts(named) }
        let answer: DataAnswer = try await post("accounts/data", in: container, body, as: credentials)
        guard answer.isComplete else {
            throw SignInError.refused(
                Refusal(status: 200, reason: "the account has data in more containers than the cloud lists"))
        }
        return answer.containers
    }

    private struct DataAnswer: Decodable {
        var containers: [AccountContainer]
        var isComplete: Bool
    }
}
