import CloudKitRecordLayer
import IdentityDirectory

/// Checks the rows of the partition of accounts against each other, row by row, in one state of the store.
package struct AccountRowCheck: Sendable {
    private let view: StorageReader

    /// Begins a check in a state of the partition.
    package init(_ view: StorageReader) { self.view = view }

    /// Checks a row.
    ///
    /// - Returns: The problem of the row; nil for one that is decoded and agrees with the rows that belong to it.
    package func problem(_ key: [UInt8], _ value: [UInt8]) async throws -> RowFinding? {
        guard let slash = key.firstIndex(of: UInt8(ascii: "/")),
            let table = tables[String(decoding: key[..<slash], as: UTF8.self)]
        else { return .unknownKind }
        let name = String(decoding: key[..<slash], as: UTF8.self)
        let text = String(decoding: key[(slash + 1)...], as: UTF8.self)
        do {
            return try await table(text, value).map { RowFinding(kind: name, place: "a row", problem: $0) }
        } catch is DecodingError {
            return RowFinding(kind: name, place: "a row", problem: RowFinding.malformedValue)
        } catch let error as StorageError where error.code == .damagedValue {
            return RowFinding(kind: name, place: "a row", problem: RowFinding.damagedNeighbour)
        }
    }

    private typealias Check = @Sendable (_ text: String, _ value: [UInt8]) async throws -> String?

    private var tables: [String: Check] {
        [
            Account.table.name: account, Account.idsByEmail.name: address,
            Account.idsByPhone.name: phone, Account.idsByAddressHash.name: addressHash,
            DeviceSession.table.name: session, DeviceSession.owners.name: sessionOwner,
            Keychain.table.name: keychain, KeyReset.table.name: keyReset,
            AccountDeletion.table.name: deletion, StoredKeyRequest.table.name: keyRequest,
            Passkey.table.name: passkey, Passkey.owners.name: passkeyOwner,
            ProviderIdentity.table.name: providerIdentity, ProviderIdentity.owners.name: providerOwner,
            SpentToken.table.name: {
                $0.hasPrefix(SpentToken.key("", until: try SpentToken(rowBytes: $1).expires))
                    ? nil : "it is under another end"
            },
            AddressProof.table.name: addressProof, AddressProof.accounts.name: addressProofCode,
            AccountInvitation.table.name: {
                try AccountInvitation(rowBytes: $1).hash == $0 ? nil : "it is under the key of another invitation"
            },
            UserNames.names.name: userName, UserNames.accounts.name: user,
            APIToken.table.name: {
                _ = try APIToken(rowBytes: $1)
                return nil
            },
            OperatorToken.table.name: {
                _ = try OperatorToken(rowBytes: $1)
                return nil
            },
            OperatorAccount.table.name: operatorAccount,
            ConsoleSession.table.name: {
                try ConsoleSession(rowBytes: $1).hash == $0 ? nil : "it is under the key of another session"
            },
            ConsoleConsent.table.name: {
                try ConsoleConsent(rowBytes: $1).hash == $0 ? nil : "it is under the key of another consent"
            },
            Account.quotasByContainer.name: {
                AccountQuota(text: String(rowBytes: $1)) == nil || $0.isEmpty ? RowFinding.malformedValue : nil
            },
            ServerKey.table.name: {
                _ = try ServerKey(rowBytes: $1)
                return nil
            },
            ProofFailures.table.name: { $1.count.isMultiple(of: 8) ? nil : RowFinding.malformedValue },
            SignUpAttempts.table.name: {
                _ = try SignUpAttempts(rowBytes: $1)
                return $0 == SignUpAttempts.key ? nil : RowFinding.malformedValue
            },
            PendingDirectoryChange.table.name: {
                PendingDirectoryChange(rowText: $0) == nil || !$1.isEmpty ? RowFinding.malformedValue : nil
            },
        ]
    }

    private func account(_ id: String, _ value: [UInt8]) async throws -> String? {
        let account = try Account(rowBytes: value)
        if account.id != id { return "it is under the key of another account" }
        let owner = try await Account.idsByEmail.row(account.email, in: view)
        return owner == id ? nil : "its address does not lead to it"
    }

    private func address(_ address: String, _ value: [UInt8]) async throws -> String? {
        let account = try await Account.table.row(String(rowBytes: value), in: view)
        return account?.email == address ? nil : "the account of an address is missing"
    }

    private func phone(_ number: String, _ value: [UInt8]) async throws -> String? {
        let account = try await Account.table.row(String(rowBytes: value), in: view)
        return account?.phoneNumbers.contains(number) == true ? nil : "the account of a phone number is missing"
    }

    private func addressHash(_ hash: String, _ value: [UInt8]) async throws -> String? {
        let account = try await Account.table.row(String(rowBytes: value), in: view)
        let addresses = account.map { [$0.email] + $0.phoneNumbers } ?? []
        return addresses.contains { AddressHash.of($0).hex == hash }
            ? nil : "the account of an address's hash is missing"
    }

    private func session(_ text: String, _ value: [UInt8]) async throws -> String? {
        let session = try DeviceSession(rowBytes: value)
        if DeviceSession.key(session.id, of: session.account).rowText != text {
            return "it is under the key of another session"
        }
        if try await DeviceSession.owners.row(session.id, in: view) != session.account {
            return "its identifier does not lead to it"
        }
        return try await Account.table.row(session.account, in: view) == nil
            ? "the account of a session is missing" : nil
    }

    private func sessionOwner(_ id: String, _ value: [UInt8]) async throws -> String? {
        let key = DeviceSession.key(id, of: String(rowBytes: value))
        return try await DeviceSession.table.row(key, in: view) == nil ? "the session of an identifier is missing" : nil
    }

    private func operatorAccount(_ id: String, _ value: [UInt8]) async throws -> String? {
        if try OperatorAccount(rowBytes: value).account != id { return "it is under the key of another account" }
        return try await Account.table.row(id, in: view) == nil ? "the account of an operator is missing" : nil
    }

    private func keychain(_ id: String, _ value: [UInt8]) async throws -> String? {
        let keychain = try Keychain(rowBytes: value)
        guard let account = try await Account.table.row(id, in: view) else {
            return "the account of a keychain is missing"
        }
        return keychain.generation == account.keychainGeneration ? nil : "it is not the newest keychain of its account"
    }

    private func keyReset(_ id: String, _ value: [UInt8]) async throws -> String? {
        if try KeyReset(rowBytes: value).account != id { return "it is under the key of another account" }
        return try await Account.table.row(id, in: view) == nil ? "the account of a reset is missing" : nil
    }

    private func keyRequest(_ text: String, _ value: [UInt8]) async throws -> String? {
        let request = try StoredKeyRequest(rowBytes: value)
        if request.rowKey.rowText != text { return "it is under the key of another request" }
        return try await Account.table.row(request.account, in: view) == nil
            ? "the account of a request for keys is missing" : nil
    }

    private func deletion(_ id: String, _ value: [UInt8]) async throws -> String? {
        if try AccountDeletion(rowBytes: value).account != id { return "it is under the key of another account" }
        return try await Account.table.row(id, in: view) == nil ? "the account of a deletion is missing" : nil
    }

    private func passkey(_ text: String, _ value: [UInt8]) async throws -> String? {
        let passkey = try Passkey(rowBytes: value)
        if passkey.rowKey.rowText != text { return "it is under the key of another passkey" }
        if try await Passkey.owners.row(passkey.rowKey.name, in: view) != passkey.account {
            return "its identifier does not lead to it"
        }
        return try await Account.table.row(passkey.account, in: view) == nil
            ? "the account of a passkey is missing" : nil
    }

    private func passkeyOwner(_ hash: String, _ value: [UInt8]) async throws -> String? {
        let key = OwnedRowKey(owner: String(rowBytes: value), name: hash)
        return try await Passkey.table.row(key, in: view) == nil ? "the passkey of an identifier is missing" : nil
    }

    private func providerIdentity(_ text: String, _ value: [UInt8]) async throws -> String? {
        let identity = try ProviderIdentity(rowBytes: value)
        if identity.rowKey.rowText != text { return "it is under the key of another person" }
        if try await ProviderIdentity.owners.row(identity.rowKey.name, in: view) != identity.account {
            return "its person does not lead to it"
        }
        return try await Account.table.row(identity.account, in: view) == nil
            ? "the account of a provider's person is missing" : nil
    }

    private func providerOwner(_ hash: String, _ value: [UInt8]) async throws -> String? {
        let key = OwnedRowKey(owner: String(rowBytes: value), name: hash)
        return try await ProviderIdentity.table.row(key, in: view) == nil ? "the provider's person is missing" : nil
    }

    private func addressProof(_ id: String, _ value: [UInt8]) async throws -> String? {
        let proof = try AddressProof(rowBytes: value)
        if proof.account != id { return "it is under the key of another account" }
        if try await AddressProof.accounts.row(proof.hash, in: view) != id { return "its code does not lead to it" }
        return try await Account.table.row(id, in: view) == nil
            ? "the account of a proof of an address is missing" : nil
    }

    private func addressProofCode(_ hash: String, _ value: [UInt8]) async throws -> String? {
        let proof = try await AddressProof.table.row(String(rowBytes: value), in: view)
        return proof?.hash == hash ? nil : "the proof of a code is missing"
    }

    private func userName(_ text: String, _ value: [UInt8]) async throws -> String? {
        let owner = try await UserNames.accounts.row(String(rowBytes: value), in: view)
        return owner.map { text.hasPrefix($0 + "/") } == true ? nil : "a user's name does not lead to its account"
    }

    private func user(_ name: String, _ value: [UInt8]) async throws -> String? {
        let names = try await UserNames.names.rows(of: String(rowBytes: value), in: view)
        return names.contains { $0.row == name } ? nil : "the account of a user does not have the user's name"
    }
}
