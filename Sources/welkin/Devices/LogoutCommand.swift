import ArgumentParser
import CloudKitDevice

/// Signs this device out.
struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Sign out this device, here and at the cloud.",
        discussion:
            "Also removes the files that apps fetched for the account; those of a running app are removed when it exits."
    )

    @OptionGroup var device: DeviceOptions

    func run() async throws {
        let (configuration, container) = try device.signIn()
        guard try configuration.deviceProfile.credentials() != nil else {
            return Output.remark("The profile \"\(configuration.profile)\" is not signed in.")
        }
        do {
            try await SignIn(configuration: configuration, send: WebSend.send).signOut(container: container)
            Output.result("Signed out.")
        } catch let error as SignInError where error.concernsFiles {
            Output.result("Signed out.")
            Output.remark(error.description)
        } catch {
            Output.result("Signed out on this machine.")
            Output.remark("The cloud could not be notified: \(error)")
        }
    }
}

extension SignInError {
    fileprivate var concernsFiles: Bool { if case .filesRemain = self { true } else { false } }
}
