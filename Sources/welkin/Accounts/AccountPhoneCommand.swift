import ArgumentParser
import CloudKitAccounts

/// Manages the phone numbers of accounts.
struct AccountPhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone", abstract: "Manage the phone numbers of an account.",
        discussion: """
            Invitations to a phone number can be accepted by the account that has it. The cloud sends no messages: verify that \
            a number is the user's before you add it.
            """,
        subcommands: [AddPhoneCommand.self, RemovePhoneCommand.self, ListPhonesCommand.self])
}

struct AddPhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a phone number.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(help: "The number with its country code, such as +441632960083.") var number: String

    func run() async throws {
        let added = try await DataFolder.with(folder) { folder in
            try await folder.order("accounts/phone/add", of: email) {
                try await folder.accountStore.accounts.addPhoneNumber(number, email: email)
            }
        }
        Output.result("Phone number \(added) of \(email) added.")
    }
}

struct RemovePhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a phone number.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Argument(help: "The number with its country code.") var number: String

    func run() async throws {
        try await DataFolder.with(folder) { folder in
            try await folder.order("accounts/phone/remove", of: email) {
                try await folder.accountStore.accounts.removePhoneNumber(number, email: email)
            }
        }
        Output.result("Phone number \(number) of \(email) removed.")
    }
}

struct ListPhonesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the phone numbers.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The account's e-mail address.") var email: String
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let numbers = try await DataFolder.with(folder) { folder in
            guard let account = try await folder.accountStore.accounts.account(email: email) else {
                throw AccountError.notFound(email)
            }
            return account.phoneNumbers
        }
        if json { return try Output.json(numbers) }
        guard !numbers.isEmpty else {
            return Output.remark("No phone numbers. Add one with: welkin account phone add \(email) NUMBER")
        }
        for number in numbers { Output.result(number) }
    }
}
